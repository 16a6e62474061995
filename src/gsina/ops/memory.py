"""Memory that is used again."""

from __future__ import annotations

import ctypes
import sys

#: Options of glibc's ``mallopt``.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = 1 << 30


def reuse_memory() -> bool:
    """Keep freed memory for the next tensors instead of giving it back to the system at once.

    By default glibc returns large blocks, and the system hands out fresh, zeroed pages for the next
    one; with millions of edges that costs more than the arithmetic. Call it once, before the work;
    the command ``gsina`` does. The process keeps its peak of memory until it ends.

    Returns:
        Whether this system's allocator took the setting.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False  # another C library, such as musl
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST) and mallopt(M_TRIM_THRESHOLD, 2**31 - 1))
