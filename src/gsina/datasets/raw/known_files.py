"""Checksums of raw files as they were read here, where the publisher states none.

A publisher may repack a file, so another checksum is noted and not refused
(:func:`gsina.datasets.raw.sources.checksum_notes`); files with an official checksum have it in
their :class:`~gsina.datasets.raw.sources.RawFile`.
"""

import json
from importlib.resources import files

#: SHA-256 by path below the data folder.
KNOWN: dict[str, str] = json.loads(files(__package__).joinpath("known_files.json").read_text())
