"""``python -m gsina`` is the command ``gsina``."""

from gsina.cli import main

if __name__ == "__main__":
    main()
