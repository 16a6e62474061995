"""What attacks begin from: small files, and models that were trained on them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from attack import sandbox
from attack.sandbox import Ended, command, limit_memory, run, watch

MOLECULES = ("CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "CC#N")
QUICK = ("--epochs", 1, "--no-baseline", "--threads", 1)


class Missing(Exception):
    """What a family of attacks needs and this machine does not have."""


@dataclass
class Workshop:
    """A folder with what attacks need, and a fresh folder in it for every case.

    Attributes:
        root: The folder.
        number: How many cases there were.
    """

    root: Path
    number: int = 0
    victims: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("home", "cache", "cases", "made"):
            (self.root / name).mkdir(parents=True)
        os.environ.update(
            HOME=str(self.root / "home"),
            GSINA_CACHE=str(self.root / "cache"),
            GSINA_DATA=str(self.root / "home" / "data"),
            GSINA_OFFLINE="1",
            TMPDIR=str(self.root / "cases"),
            MPLCONFIGDIR=str(self.root / "cache" / "matplotlib"),
            NO_COLOR="1",
            COLUMNS="200",
            OMP_NUM_THREADS="1",
        )
        os.environ.pop("GSINA_DEBUG", None)
        tempfile.tempdir = None  # so that it is looked up again
        for name in ("precious.txt", "home/precious.txt", "made/precious.txt"):
            self.victims[self.root / name] = f"{name}\n".encode()
        for path, content in self.victims.items():
            path.write_bytes(content)

    def folder(self) -> Path:
        """A new folder for a case."""
        self.number += 1
        made = self.root / "cases" / f"case{self.number}"
        made.mkdir()
        return made

    def clear(self, folder: Path) -> None:
        """Remove the folder of a case that has ended well."""
        shutil.rmtree(folder, ignore_errors=True)
        for path in (sandbox.output_of(folder), sandbox.errors_of(folder)):
            path.unlink(missing_ok=True)

    def attempt(self, folder: Path, work: Callable[[], Any], **options: Any) -> str:
        """Why a case in a folder broke something; empty if it did not."""
        allowed = [self.root / "cases", self.root / "cache"]
        limits = (limit_memory, lambda: watch(allowed))
        ended = run(work, folder, limits=limits, **options)
        return ended.problem or self.harm()

    def harm(self) -> str:
        """Which file outside of the cases was changed, in words; empty if none was."""
        for path, content in self.victims.items():
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)
                return f"{path.relative_to(self.root)} was changed"
        return ""

    def do(self, folder: Path, *arguments: object, **options: Any) -> Ended:
        """Run a command without limits, which must end well."""
        ended = run(command(*arguments), folder, limits=(), seconds=300, **options)
        if ended.code:
            raise RuntimeError(f"{arguments} ended with {ended.code}: {ended.err[-2000:]}")
        return ended

    @cached_property
    def graphs(self) -> Path:
        """Forty small graphs of two classes, one per line."""
        random, path = Random(0), self.root / "made" / "graphs.jsonl"
        path.write_text("".join(json.dumps(graph(random, i)) + "\n" for i in range(40)))
        return path

    @cached_property
    def molecules(self) -> Path:
        """Forty-eight molecules of two classes."""
        path = self.root / "made" / "molecules.csv"
        rows = (f"{'C' * (i // 6)}{MOLECULES[i % 6]},{i % 2},n{i}" for i in range(48))
        path.write_text("\n".join(["smiles,active,note", *rows]) + "\n")
        return path

    @cached_property
    def tensors(self) -> dict[str, Any]:
        """One graph of sixty labelled nodes."""
        import torch

        nodes = torch.arange(60)
        ends = torch.stack([nodes, (nodes + 1) % 60])
        x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
        return {"x": x, "edge_index": torch.cat([ends, ends.flip(0)], 1), "y": nodes % 2}

    def model(self, kind: str) -> Path:
        """The folder of a finished run on ``graphs``, ``molecules`` or ``nodes``."""
        out = self.root / "made" / f"run-{kind}"
        if not out.exists():
            if kind == "nodes":
                import torch

                file: Path = self.root / "made" / "nodes.pt"
                torch.save(self.tensors, file)
            else:
                file = getattr(self, kind)
            more = ("--target", "active", "--split", "random") if kind == "molecules" else ()
            self.do(self.folder(), "train", file, *more, *QUICK, "--out", out)
        return out


def graph(random: Random, number: int) -> dict[str, Any]:
    """A cycle with two features per node; the second says the class."""
    count = random.randint(3, 7)
    return {
        "id": f"g{number}",
        "nodes": [[random.random(), number % 2] for _ in range(count)],
        "edges": [[node, (node + 1) % count] for node in range(count)],
        "label": ("a", "b")[number % 2],
        "site": number % 4,
    }


#: What a family of attacks gives: one trial after the other, each with why it broke something.
Trials = Iterator[str]
