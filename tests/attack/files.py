"""Hostile files of users: graphs, tables, tensors, and values of options."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from attack import hostile
from attack.sandbox import command
from attack.workshop import QUICK, Trials, Workshop, graph

#: Lines of JSON that were once found to break something, and their kin.
GRAPHS = (
    '{"nodes":16777216,"edges":[]}',
    '{"nodes":1048576,"edges":[]}',
    '{"nodes":[[3e38,3e38]],"edges":[],"label":"a"}',
    '{"id":"\\ud800","nodes":[[1,2],[1,2]],"edges":[[0,1]],"label":"a"}',
    '{"nodes":[[1,2],[1,2]],"edges":[[0,1]],"label":"\\udfff"}',
    "[" * 100_000,
    '{"nodes":' + "[" * 50_000 + "]" * 50_000 + "}",
    '{"nodes":2,"edges":[[0,1]],"label":1e400}',
    '{"nodes":2,"edges":[[0,9223372036854775807]]}',
    '{"nodes":2,"edges":[[0,1]],"edge_features":[[NaN]]}',
    "null",
    '{"nodes":[' + "[0,1]," * 50_000 + "[0,1]]" + ',"edges":[]}',
)
SMILES = (
    "C" * 10_000,
    "(" * 2000,
    "C1" * 500,
    "C%99" * 3,
    "[U+99999999999]",
    "." * 1000,
    "C" + "(C)" * 3000,
    "[nH]" * 200,
    "InChI=1S/CH4/h1H4",
    "*" * 400,
    "C\nC",
    "C>>C",
    "c1ccccc",
    "[999999999999C]",
    "C:1" * 99,
)


def json_graphs(random: Random, shop: Workshop) -> Trials:
    """Graphs in lines of JSON, to predict, explain, embed and train on."""
    model = shop.model("graphs")
    while True:
        rows: list[str] = []
        for number in range(random.choice((1, 3, 40))):
            kind = random.randrange(4)
            tree: Any = graph(random, number)
            if kind == 0:
                tree = hostile.changed(random, tree, random.randrange(1, 4))
            rows.append(hostile.text_of(random, tree) if kind < 2 else json.dumps(tree))
        for _ in range(random.choice((0, 0, 1, 3))):
            rows.insert(random.randrange(len(rows) + 1), random.choice(GRAPHS))
        content = "\n".join(rows).encode("utf-8", "surrogatepass")
        if random.random() < 0.3:
            content = hostile.damaged(random, content)
        folder = shop.folder()
        file = folder / random.choice(("new.jsonl", "new.jsonl", "new.json", "new.jsonl.gz"))
        file.write_bytes(content)
        yield _use(random, shop, folder, model, file, train=())


def tables(random: Random, shop: Workshop) -> Trials:
    """Tables of molecules, to predict, explain, embed and train on."""
    model = shop.model("molecules")
    usual = shop.molecules.read_text().splitlines()
    while True:
        rows = [line.split(",") for line in usual[: random.choice((2, 10, 49))]]
        for _ in range(random.choice((0, 1, 5))):
            row = random.choice(rows)
            odd = (*SMILES, *hostile.TEXTS, hostile.number_text(random))
            row[random.randrange(len(row))] = random.choice(odd)
        if random.random() < 0.1:
            rows[0] += [f"c{i}" for i in range(random.choice((10, 100_000)))]
        if random.random() < 0.2:
            random.choice(rows).append('"')
        mark = random.choice((",", ",", ",", ";", "\t", "|"))
        text = "\n".join(mark.join(row) for row in rows)
        content = text.encode("utf-8", "surrogatepass")
        if random.random() < 0.3:
            content = hostile.damaged(random, content)
        folder = shop.folder()
        file = folder / random.choice(("new.csv", "new.csv", "new.tsv", "new.csv.gz", "new.sdf"))
        file.write_bytes(content)
        yield _use(random, shop, folder, model, file, train=("--target", "active"))


def node_tables(random: Random, shop: Workshop) -> Trials:
    """Tables of nodes and of the edges between them, to train on."""
    while True:
        nodes = [["id", "a", "b", "label"]]
        nodes += [[f"n{i}", str(i % 3), f"{i / 7:.3f}", f"c{i % 2}"] for i in range(30)]
        edges = [["source", "target"], *([f"n{i}", f"n{(i + 1) % 30}"] for i in range(30))]
        for _ in range(random.choice((1, 5))):
            row = random.choice(random.choice((nodes, edges)))
            odd = (*hostile.TEXTS, hostile.number_text(random), "n1", "c0")
            row[random.randrange(len(row))] = random.choice(odd)
        folder = shop.folder()
        for name, rows in (("nodes.csv", nodes), ("edges.csv", edges)):
            content = "\n".join(map(",".join, rows)).encode("utf-8", "surrogatepass")
            damage = random.random() < 0.2
            (folder / name).write_bytes(hostile.damaged(random, content) if damage else content)
        given = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "label")
        yield _judged(shop, folder, "train", *given, *QUICK, "--out", "run")


def tensor_files(random: Random, shop: Workshop) -> Trials:
    """One graph in a file of tensors, to predict, explain, embed and train on."""
    import torch
    from safetensors.torch import save

    model = shop.model("nodes")
    while True:
        folder, tensors = shop.folder(), dict(shop.tensors)
        for _ in range(random.choice((0, 1, 2))):
            name = random.choice(("x", "y", "edge_index", "edge_attr", "train_mask", "other"))
            tensors[name] = odd_tensor(random, name)
        if random.random() < 0.2:
            del tensors[random.choice(list(tensors))]
        file = folder / "new.pt"
        torch.save(tensors, file)
        if random.random() < 0.2:
            file.unlink()
            file = folder / "new.safetensors"
            plain = {
                name: value.contiguous()
                for name, value in tensors.items()
                if value.layout == torch.strided and value.device.type == "cpu"
                if value.numel() < 1 << 20
            }
            file.write_bytes(save(plain))
        if random.random() < 0.4:
            file.write_bytes(hostile.damaged(random, file.read_bytes()))
        yield _use(random, shop, folder, model, file, train=())


def odd_tensor(random: Random, name: str) -> Any:
    """A tensor of a kind or shape that nobody expects."""
    import torch

    plain = torch.randn(random.choice(((60, 3), (60,), (120, 1), (2, 120), (0, 3), (60, 0), ())))
    kind = random.randrange(9)
    if kind == 0 and plain.numel():
        return plain.to_sparse()
    if kind == 1:
        return plain.to(random.choice((torch.complex64, torch.float16, torch.bfloat16)))
    if kind == 2:
        return plain.to(random.choice((torch.uint16, torch.int8, torch.bool, torch.float8_e5m2)))
    if kind == 3:
        return torch.empty(60, 3, device="meta")
    if kind == 4:
        return torch.ones(1).expand(random.choice((60, 120)), 1 << random.choice((10, 24, 28)))
    if kind == 5:
        return torch.full((60, 3), random.choice(hostile.FLOATS), dtype=torch.float64)
    if kind == 6:
        return torch.full((2, 120), random.choice((60, -1, 2**62)), dtype=torch.int64)
    return plain.requires_grad_()


def option_values(random: Random, shop: Workshop) -> Trials:
    """Values of options, of the commands that take them."""
    model, graphs = shop.model("graphs"), shop.graphs
    numbers = ("--seed", "--batch-size", "--threads", "--ratio", "--patience", "--learning-rate")
    settings = ("temperature", "ratio", "budget", "noise", "iterations", "hidden_channels")
    words = ("--method", "--backbone", "--metric", "--class-weight", "--split", "--task", "--seeds")
    while True:
        folder, given = shop.folder(), list[object]()
        for _ in range(random.choice((1, 1, 2))):
            kind = random.randrange(5)
            text = hostile.number_text(random)
            odd = random.choice((text, *hostile.TEXTS)).replace("\x00", "?")
            if kind < 2:
                given += [random.choice(numbers), text]
            elif kind == 2:
                given += ["--set", f"{random.choice(settings)}={odd[:5000]}"]
            elif kind == 3:
                given += [random.choice(words), odd[:5000]]
            else:
                given += [random.choice(("--out", "--split-column", "--recipe")), odd[:5000]]
        given = [argument.encode("utf-8", "replace").decode() for argument in map(str, given)]
        if random.random() < 0.3:
            asked = ("--top", "--threads", "--coverage", "--out", "--smiles", "--nodes")
            more = [random.choice(asked), hostile.number_text(random)]
            name = random.choice(("predict", "explain", "embed"))
            yield _judged(shop, folder, name, model, graphs, *more)
        else:
            given += [] if "--out" in given else ["--out", "run"]
            yield _judged(shop, folder, "train", graphs, *QUICK, *given)


def _use(
    random: Random, shop: Workshop, folder: Path, model: Path, file: Path, train: tuple[str, ...]
) -> str:
    """Give a file to one of the commands that read files."""
    name = random.choice(("predict", "predict", "predict", "explain", "embed", "train"))
    if name == "train":
        return _judged(shop, folder, "train", file, *train, *QUICK, "--out", "run")
    out = {"predict": ("out.csv", "out.jsonl"), "embed": ("out.npy", "out.csv")}
    more = ("--attention",) if name == "predict" and random.random() < 0.3 else ()
    return _judged(
        shop, folder, name, model, file, "-o", random.choice(out.get(name, ("page.html",))), *more
    )


def _judged(shop: Workshop, folder: Path, *arguments: object) -> str:
    problem = shop.attempt(folder, command(*arguments))
    if not problem:
        shop.clear(folder)
        return ""
    return f"gsina {' '.join(map(str, arguments))[:300]} in {folder}: {problem}"
