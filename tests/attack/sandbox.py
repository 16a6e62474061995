"""One command of the program in a process of its own, with limits and a watch on what it touches.

The processes are forked from one that has imported everything, so that a case costs milliseconds
and not the seconds of importing torch. What a case may write is its folder and the cache; a hook on
Python's audit events ends a process that opens, moves or removes a file elsewhere, starts a program
or connects to an address.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Seconds that a case may take, and bytes of memory beyond those of the process it is forked from.
SECONDS = 60.0
MEMORY = 3 << 30
#: Bytes that every file may have.
ROOM = 8192
#: Exit code of a case that has left its folder.
LEFT = 99
#: Programs that the package starts itself, and files that everybody may write to.
OWN_PROGRAMS = ("git",)
EVERYBODYS = ("/dev/", "/proc/self/")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Audit events about files, and how many of their first arguments are paths.
PATHS = {
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.mkdir": 1,
    "os.symlink": 2,
    "os.link": 2,
    "os.chmod": 1,
    "os.truncate": 1,
    "shutil.rmtree": 1,
}
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "socket.connect")


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        code: Its exit code; minus the number of the signal that ended it.
        out: What it printed.
        err: What it printed as errors.
        seconds: How long it took.
        peak: Bytes of memory that it took beyond those it began with.
    """

    code: int
    out: str
    err: str
    seconds: float
    peak: int

    @property
    def problem(self) -> str:
        """Why this is neither success nor one sentence; empty if it is."""
        last = (self.err.strip().splitlines() or [""])[-1][:300]
        if self.code == LEFT:
            return f"it left its folder: {last}"
        if self.code == -signal.SIGKILL:
            return f"it took more than {self.seconds:.0f} s"
        if self.code < 0:
            return f"it was ended by signal {-self.code}"
        if "Traceback (most recent call last)" in self.err + self.out:
            return f"it showed a traceback: {last}"
        if self.peak > MEMORY:
            return f"it took {self.peak >> 20} MiB"
        if self.code == 0:
            return ""
        said = [line for line in self.err.splitlines() if line.startswith("error: ")]
        if self.code in (1, 2) and (len(said) == 1 or "Usage:" in self.err):
            return ""
        return f"it ended with code {self.code} and said {len(said)} sentences: {last}"


def watch(allowed: Sequence[Path]) -> None:
    """From here on, end this process if it leaves these folders."""
    folders = tuple(f"{folder.resolve()}{os.sep}" for folder in allowed)

    def inside(path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a file that is open already
        # A link itself may be replaced; what it leads to is looked at afterwards.
        folder, name = os.path.split(os.fsdecode(path))
        name = os.path.join(os.path.realpath(folder or "."), name)
        return f"{name}{os.sep}".startswith(folders) or name.startswith(EVERYBODYS)

    def check(event: str, given: tuple[Any, ...]) -> None:
        bad = event in FORBIDDEN
        if event == "open":
            bad = isinstance(given[2], int) and bool(given[2] & WRITING) and not inside(given[0])
        elif event in PATHS:
            relative = isinstance(given[-1], int) and given[-1] >= 0  # to an open folder
            bad = not relative and not all(map(inside, given[: PATHS[event]]))
        elif event == "subprocess.Popen":
            bad = os.path.basename(str(given[0])) not in OWN_PROGRAMS
        if bad:
            os.write(2, f"\n{event} {given!r}\n".encode("utf-8", "backslashreplace")[:2000])
            os._exit(LEFT)

    sys.addaudithook(check)


def limit_memory() -> None:
    """Let this process have a few gibibytes more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + 2 * MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_files(size: int) -> None:
    """Let no file of this process grow beyond a size, as on a full disk.

    The file of its errors must have room for a sentence.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = max(size, ROOM)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def start(
    work: Callable[[], Any],
    folder: Path,
    *,
    limits: Sequence[Callable[[], None]] = (limit_memory,),
) -> int:
    """Fork a process that works in a folder; its output goes to files beside that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are no other threads
        child = os.fork()
    if child:
        return child
    code = 70
    faulthandler.disable()  # the parent says how it ended
    try:
        for number, path in ((1, output_of(folder)), (2, errors_of(folder))):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        os.chdir(folder)
        for limit in limits:
            limit()
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def output_of(folder: Path) -> Path:
    """Where the output of a process in a folder goes."""
    return folder.with_name(f"{folder.name}.out")


def errors_of(folder: Path) -> Path:
    """Where its errors go."""
    return folder.with_name(f"{folder.name}.err")


def wait(child: int, folder: Path, seconds: float = SECONDS) -> Ended:
    """Wait for a process, and kill it when its time is over."""
    began, before = time.monotonic(), resident()
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        passed = time.monotonic() - began
        if ended:
            break
        if passed > seconds:
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
            break
        time.sleep(0.002)
    out, err = (
        path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        for path in (output_of(folder), errors_of(folder))
    )
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, out, err, passed, max(0, used.ru_maxrss * 1024 - before))


def resident() -> int:
    """Bytes of memory that this process has and a copy of it has, too: not those of files."""
    _, pages, of_files, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (pages - of_files) * os.sysconf("SC_PAGE_SIZE")


def run(
    work: Callable[[], Any], folder: Path, *, seconds: float = SECONDS, **options: Any
) -> Ended:
    """Work in a folder, in a process of its own, and wait for its end."""
    return wait(start(work, folder, **options), folder, seconds)


def command(*arguments: object) -> Callable[[], Any]:
    """A command of the program, to be run in a process of its own."""
    texts = [str(argument) for argument in arguments]

    def work() -> None:
        from gsina.cli import app

        app(texts, prog_name="gsina")

    return work
