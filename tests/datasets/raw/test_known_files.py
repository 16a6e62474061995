"""The real files are the ones whose checksums are known."""

from __future__ import annotations

import pytest

from gsina.datasets.raw.known_files import KNOWN
from gsina.datasets.raw.sources import RawFile, at_hand, checksum_notes


@pytest.mark.data
def test_the_files_at_hand_are_the_known_ones() -> None:
    files = [file for path in KNOWN if at_hand(file := RawFile(path))]
    if not files:
        pytest.skip("none of them is at hand")
    assert checksum_notes(*files) == []
