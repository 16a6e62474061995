"""Values, texts and bytes that no honest file has."""

from __future__ import annotations

import copy
import gzip
import json
import math
from collections.abc import Iterator
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 2, 2**31, -(2**31), 2**63, -(2**63) - 1, 2**64, 10**30, 16777216, 1048577)
FLOATS = (0.5, -0.0, 1e-300, 1e-45, 3e38, -3e38, 1e300, math.inf, -math.inf, math.nan)
TEXTS = (
    "",
    " ",
    "\ud800",
    "\x00",
    "=1+1",
    '=HYPERLINK("http://a")',
    "@SUM(1)",
    "-2+3",
    "\t=1",
    "../../precious.txt",
    "/etc/passwd",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\u202eabc",
    "\u2028",
    "a\r\nb",
    "nan",
    "1e999",
    "\uff11\uff12",
    "true",
    "null",
    "x" * 100_000,
    "é" * 300,
    "%s%n{0}{}",
    "$(touch precious)",
)


def value(random: Random, depth: int = 0) -> Any:
    """Any JSON value, most of them odd."""
    kind = random.randrange(8 if depth < 3 else 5)
    if kind < 2:
        return random.choice(NUMBERS)
    if kind == 2:
        return random.choice(FLOATS)
    if kind == 3:
        return random.choice(TEXTS)
    if kind == 4:
        return random.choice((None, True, False))
    size = random.choice((0, 1, 2, 3, 50))
    if kind == 5:
        return [value(random, depth + 1) for _ in range(size)]
    if kind == 6:
        return {str(random.choice(TEXTS))[:20]: value(random, depth + 1) for _ in range(size)}
    return [[value(random, 3)] * 2] * size


def number_text(random: Random) -> str:
    """A number as a user could type it, or something like it."""
    odd = (
        "1_000",
        "0x10",
        "1,5",
        "1e5",
        "+1",
        "--1",
        "1.0.0",
        "\u0661",
        "9" * 5000,
        "",
        "abc",
        "-",
    )
    return str(random.choice((*NUMBERS, *FLOATS, *odd)))


def paths(tree: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values inside a JSON value are."""
    if before:
        yield before
    inner = tree.items() if isinstance(tree, dict) else ()
    for key, part in enumerate(tree) if isinstance(tree, list) else inner:
        yield from paths(part, (*before, key))


def changed(random: Random, tree: Any, times: int = 1) -> Any:
    """A JSON value with some values inside replaced, removed, added, or moved elsewhere."""
    tree = copy.deepcopy(tree)
    for _ in range(times):
        *way, last = random.choice(list(paths(tree)))
        place = tree
        for key in way:
            place = place[key]
        kind = random.randrange(6)
        if kind == 0:
            del place[last]
        elif kind == 1 and isinstance(place, dict):
            place[random.choice(TEXTS)[:50]] = value(random)
        elif kind == 2 and isinstance(place[last], int | float):
            place[last] = random.choice((*NUMBERS, *FLOATS))
        elif kind == 3 and isinstance(place[last], list) and place[last]:
            place[last] = place[last] * random.choice((2, 1000))
        else:
            place[last] = value(random)
        if not list(paths(tree)):
            return tree
    return tree


def text_of(random: Random, tree: Any) -> str:
    """JSON text, sometimes with what ``json`` would not write."""
    text = json.dumps(tree)
    kind = random.randrange(12)
    if kind == 0:
        return text.replace("1", "9" * random.choice((30, 5000)), 1)
    if kind == 1:
        return text.replace("[", "[" * 100_000, 1)
    if kind == 2:
        return text[: random.randrange(len(text) + 1)]
    if kind == 3:
        return text.replace(":", ":" + " " * 1000, 1)
    return text


def damaged(random: Random, content: bytes) -> bytes:
    """Bytes that are cut, flipped, doubled, packed, or in another encoding."""
    kind = random.randrange(9)
    if kind == 0:
        return content[: random.randrange(len(content) + 1)]
    if kind == 1:
        return gzip.compress(content)[: random.choice((None, -5, 20))]
    if kind == 2:
        return gzip.compress(content + b"\n" * (1 << 23))
    if kind == 3:
        return content.decode("utf-8", "replace").encode("utf-16")
    if kind == 4:
        return b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
    if kind == 5:
        return content.replace(b"\n", b"\r")
    found = bytearray(content)
    for _ in range(random.choice((1, 5, 50))):
        if found:
            place = random.randrange(len(found))
            found[place : place + random.randrange(3)] = random.randbytes(random.randrange(3))
    return bytes(found)
