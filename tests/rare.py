"""Files with a rare class: 8 % of fraud that a network can partly tell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SHARE = 0.08


def node_tables(folder: Path, count: int = 600, seed: int = 0) -> tuple[Path, Path]:
    """A table of nodes and one of edges."""
    draw = np.random.default_rng(seed)
    fraud = draw.random(count) < SHARE
    x = draw.normal(size=(count, 3))
    x[:, 0] += 1.5 * fraud
    nodes, edges = folder / "nodes.csv", folder / "edges.csv"
    rows = [
        f"n{row},{'fraud' if fraud[row] else 'ok'},{','.join(f'{one:.4f}' for one in x[row])}"
        for row in range(count)
    ]
    nodes.write_text("\n".join(["id,label,a,b,c", *rows]) + "\n")
    ends = draw.integers(count, size=(2 * count, 2))
    kept = [(a, b) for a, b in ends if a != b and fraud[a] == fraud[b]]
    edges.write_text("\n".join(["source,target", *(f"n{a},n{b}" for a, b in kept)]) + "\n")
    return nodes, edges


def json_graphs(path: Path, count: int = 400, seed: int = 0, shift: float = 0.0) -> Path:
    """Rings of nodes whose first feature is larger in fraud."""
    draw = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        fraud, size = draw.random() < SHARE, int(draw.integers(4, 8))
        x = draw.normal(size=(size, 3))
        x[:, 0] += 0.8 * fraud
        x[:, 1] += shift
        lines.append(
            json.dumps(
                {
                    "nodes": x.round(4).tolist(),
                    "edges": [[node, (node + 1) % size] for node in range(size)],
                    "label": "fraud" if fraud else "ok",
                }
            )
        )
    path.write_text("\n".join(lines) + "\n")
    return path
