"""Make the site: ``python -m docs.site [--out build/site] [--no-examples]``.

It builds offline and strictly: a link that leads nowhere, a public name without a place in the
reference or without a docstring, and every other warning of Sphinx end it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from docs.site.pages import ROOT, broken_links, write_pages
from docs.site.reference import MADE, problems, write_reference

#: What the extra `docs` brings.
NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton")


def missing() -> str:
    """A sentence that says what is not installed; empty if all is there."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    said = f"the site needs {', '.join(absent)}: pip install 'gsina[docs]', or make install."
    return said if absent else ""


def build(out: Path) -> int:
    """Build the site from the pages as they are; returns 0 if nothing was wrong."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    from docs.site.settings import SETTINGS
    from gsina import __version__

    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder, docutils_namespace():
        source = Path(folder) / "source"
        write_pages(source)
        write_reference(source / MADE)
        app = Sphinx(
            srcdir=source,
            confdir=None,
            outdir=out,
            doctreedir=Path(folder) / "doctrees",
            buildername="html",
            confoverrides=SETTINGS | {"version": __version__, "release": __version__},
            status=None,
            warningiserror=True,
        )
        app.build()
    return app.statuscode


def main() -> int:
    """Run the examples, check the pages and the names, and build the site."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "site", help="folder of the site"
    )
    parser.add_argument("--no-examples", action="store_true", help="take their pages as they are")
    given = parser.parse_args()
    if missing():
        print(missing(), file=sys.stderr)
        return 2
    if not given.no_examples:
        subprocess.run([sys.executable, "-m", "examples"], cwd=ROOT, check=True)
    found = [*broken_links(), *problems()]
    for problem in found:
        print(problem, file=sys.stderr)
    if found or build(given.out):
        print("The site was not made: see above.", file=sys.stderr)
        return 1
    print(f"{given.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
