"""The command line: one small file per command. Nothing else in the package prints."""

from gsina.cli.app import app, main

__all__ = ["app", "main"]
