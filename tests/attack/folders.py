"""Hostile folders of models and runs, pickles, and files of datasets."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from attack import hostile
from attack.sandbox import command
from attack.workshop import QUICK, Trials, Workshop

#: Cases of one process, where a case is a call and not a command.
TOGETHER = 50


def model_folders(random: Random, shop: Workshop) -> Trials:
    """Descriptions, weights and links in a model folder, whose model is then used."""
    while True:
        kind = random.choice(("graphs", "graphs", "molecules", "nodes"))
        folder, file = shop.folder(), _file_of(shop, kind)
        shutil.copytree(shop.model(kind) / "model", folder / "model")
        meta, weights = folder / "model" / "model.json", folder / "model" / "model.safetensors"
        what = random.randrange(8)
        if what < 5:
            tree = hostile.changed(random, json.loads(meta.read_text()), random.choice((1, 1, 3)))
            text = hostile.text_of(random, tree)
            meta.write_bytes(text.encode("utf-8", "surrogatepass"))
        elif what < 7:
            _change_tensors(random, weights, random.random() < 0.5)
            tree = json.loads(meta.read_text())
            tree["weights"] = hashlib.sha256(weights.read_bytes()).hexdigest()
            meta.write_text(json.dumps(tree))
        else:
            path = random.choice((meta, weights))
            path.write_bytes(hostile.damaged(random, path.read_bytes()))
        name, out = random.choice(
            (("predict", "out.csv"), ("explain", "p.html"), ("embed", "v.npy"))
        )
        asked = (name, folder / "model", file, "-o", out)
        problem = shop.attempt(folder, command(*asked))
        if not problem:
            shop.clear(folder)
        yield problem and f"gsina {' '.join(map(str, asked))}: {problem}"


def run_folders(random: Random, shop: Workshop) -> Trials:
    """Checkpoints, results, recipes and links in the folder of a run that is resumed."""
    done = shop.model("graphs")
    names = ("checkpoint.safetensors", "run.json", "result.json", "recipe.toml", "log.jsonl")
    while True:
        folder = shop.folder()
        out = folder / "run"
        shutil.copytree(done, out)
        if random.random() < 0.7:
            (out / "result.json").unlink()
        path = out / random.choice(names)
        what = random.randrange(4)
        if what == 0 and path.exists():
            path.write_bytes(hostile.damaged(random, path.read_bytes()))
        elif what == 1 and path.suffix == ".json" and path.exists():
            tree = hostile.changed(random, json.loads(path.read_text()))
            path.write_bytes(hostile.text_of(random, tree).encode("utf-8", "surrogatepass"))
        elif what == 2:
            place = out / random.choice((*names, ".lock", "model/model.json", "report.html"))
            place.unlink(missing_ok=True)
            place.symlink_to(random.choice(list(shop.victims)))
        else:
            _change_tensors(random, out / "checkpoint.safetensors", True)
        force = random.choice((("--resume",), ("--resume", "--epochs", 2), ("--force",)))
        asked: tuple[object, ...] = ("train", "--out", "run", *force)
        if force == ("--force",):
            asked = ("train", shop.graphs, *QUICK, "--out", "run", "--force")
        if random.random() < 0.2:
            asked = ("runs", ".", *random.choice(((), ("--json",), ("--sort", "score"))))
        problem = shop.attempt(folder, command(*asked))
        if not problem:
            shop.clear(folder)
        yield problem and f"gsina {' '.join(map(str, asked))} in {folder}: {problem}"


def _change_tensors(random: Random, path: Path, meta_too: bool) -> None:
    """Other tensors or metadata in a file that is whole, with its digest."""
    from gsina.files import load_tensors, save_tensors

    tensors, meta = load_tensors(path)
    name = random.choice(list(tensors))
    kind = random.randrange(5)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = tensors[name].new_zeros(random.choice(((), (0,), (3, 3), (1000,))))
    elif kind == 2 and tensors[name].is_floating_point():
        tensors[name] = tensors[name] * random.choice(hostile.FLOATS)
    elif kind == 3:
        tensors[random.choice(hostile.TEXTS[:20]).replace("\ud800", "?")] = tensors[name]
    if meta_too and meta:
        meta = hostile.changed(random, meta)
    save_tensors(path, tensors, meta if isinstance(meta, dict) else {})


def _file_of(shop: Workshop, kind: str) -> Path:
    shop.model(kind)
    return shop.root / "made" / "nodes.pt" if kind == "nodes" else getattr(shop, kind)


class Trap:
    """Does harm when it is unpickled by a reader that runs what a file says."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Any, ...]:
        return os.truncate, (str(self.victim), 0)


def pickles(random: Random, shop: Workshop) -> Trials:
    """Pickles for the reader of old files: damaged, of many values, and traps."""
    from gsina.datasets.raw.pickles import read_arrays

    def make(folder: Path) -> Path:
        kind = random.randrange(5)
        array = np.arange(12.0).reshape(3, 4)
        content = pickle.dumps(random.choice((array, [array], {"a": array}, ([1], "b"))), 2)
        if kind < 2:
            content = hostile.damaged(random, content)
        elif kind == 2:  # lists in lists, each shared
            content = b"]" + b"q\x00h\x00h\x00\x86" * random.choice((10, 60)) + b"."
        elif kind == 3:
            trap = Trap(random.choice(list(shop.victims)))
            content = pickle.dumps([trap, array], random.choice((0, 2, 4)))
        else:  # opcodes at random
            codes = bytes(code.encode()[0] for code in "](}.aeb0l2tqrRcouis\x85\x86\x87\x93")
            tail = bytes(random.choice(codes) for _ in range(40))
            content = b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR" + tail + b"."
        path = folder / "a.pkl"
        path.write_bytes(content)
        return path

    yield from _calls(random, shop, make, read_arrays)


def dataset_files(random: Random, shop: Workshop) -> Trials:
    """Files of datasets that are packed: gzip, zip, NumPy's and MATLAB's."""
    from scipy.io import savemat

    from gsina.datasets.nodes.facebook100 import read_school
    from gsina.datasets.raw.compressed_files import open_npz, read_gzip, read_npy
    from gsina.datasets.raw.sources import unpack
    from gsina.datasets.tu import read_archive

    def npz(path: Path) -> None:
        with open_npz(path, "arrays") as arrays:
            for name in list(arrays.files):
                arrays[name]

    readers: dict[str, Callable[[Path], object]] = {
        "a.gz": read_gzip,
        "a.npy": read_npy,
        "a.npz": npz,
        "a.mat": read_school,
        "a.zip": lambda path: unpack(path, {"x.npy": path.with_name("x.npy")}),
        "b.zip": read_archive,
    }

    def make(folder: Path) -> Path:
        name = random.choice(list(readers))
        path, buffer = folder / name, io.BytesIO()
        array = np.zeros(random.choice(((4, 4), (3, 7), (0,), (1000, 100))))
        if name == "a.mat":
            savemat(buffer, {"A": array, "local_info": array}, do_compression=random.random() < 0.5)
        elif name == "a.npy":
            np.save(buffer, array)
        else:
            np.savez_compressed(buffer, x=array)
        content = buffer.getvalue()
        if random.random() < 0.3:
            old, new = b"(4, 4)", random.choice((b"(9, 9)", b"(-1, )"))
            content = content.replace(old, new)
        path.write_bytes(content if random.random() < 0.2 else hostile.damaged(random, content))
        return path

    yield from _calls(random, shop, make, lambda path: readers[path.name](path))


def _calls(
    random: Random,
    shop: Workshop,
    make: Callable[[Path], Path],
    read: Callable[[Path], object],
) -> Trials:
    """Read files, many in one process; each must be read, or refused with one sentence."""
    from gsina.errors import InputError

    while True:
        folder = shop.folder()
        inner = [folder / str(number) for number in range(TOGETHER)]
        for one in inner:
            one.mkdir()
        files = [make(one) for one in inner]

        def work(files: list[Path] = files) -> None:
            for path in files:
                (path.parent / "begun").touch()
                try:
                    read(path)
                except InputError as error:
                    if "\n" in str(error):
                        raise AssertionError(f"more than a sentence: {error}") from error
                (path.parent / "ended").touch()

        problem = shop.attempt(folder, work)
        for path in files:
            ended = (path.parent / "ended").exists()
            if not ended and (path.parent / "begun").exists():
                yield f"reading {path}: {problem}"
                problem = ""
                break
            yield ""
        if problem:
            yield f"reading one of the files in {folder}: {problem}"
        elif ended:
            shop.clear(folder)
