"""The compiled kernels under the sanitizers of the C compiler, with one planted error."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

from attack.workshop import Missing, Trials, Workshop

DRIVER = Path(__file__).with_name("kernel_driver.c")
#: Rounds per process.
ROUNDS = 200


def sanitised(random: Random, shop: Workshop) -> Trials:
    """Random problems, damaged ones included, in memory that is exactly as large as it must be."""
    program = build(shop.folder())
    planted = call(program, random.randrange(1 << 31), planted=True)
    if planted.returncode == 0:
        yield "the planted error was not caught"
    while True:
        seed = random.randrange(1 << 31)
        done = call(program, seed)
        yield from [""] * (ROUNDS - 1)
        yield f"seed {seed}: {done.stderr[:500]}" if done.returncode else ""


def build(folder: Path) -> Path:
    """The driver with the kernels, under the sanitizers.

    Raises:
        Missing: There is no compiler that has them.
    """
    import gsina.ops

    home = Path(gsina.ops.__file__).parent
    sources = sorted(map(str, home.glob("*.c")))
    program, compiler = folder / "driver", shutil.which("cc")
    if compiler is None:
        raise Missing("there is no C compiler")
    options = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    call = [compiler, *options, *sources, str(DRIVER), "-o", str(program), "-lm"]
    made = subprocess.run(call, capture_output=True, text=True)
    if made.returncode:
        raise Missing(f"the compiler has no sanitizers ({made.stderr.strip()[-200:]})")
    return program


def call(program: Path, seed: int, planted: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the driver; with a planted error it reads one number too many."""
    asked = [str(program), str(seed), str(ROUNDS), str(int(planted))]
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(asked, capture_output=True, text=True, env=environment, timeout=300)
