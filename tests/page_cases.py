"""Graphs and problems for the tests of the page and of its solver."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gsina import soft_top_r
from gsina.explain.page import PageGraph

RATIOS = (0.01, 0.3, 0.5, 0.77, 0.999, 1.0)
TEMPERATURES = (0.01, 0.1, 1.0, 7.0, 100.0)
#: Where the sliders of the pages in a browser start.
RATIO, TAU = 0.4, 1.5


def problems() -> list[dict[str, Any]]:
    """Scores with ties, of all spreads and sizes, with one and two copies, at all settings."""
    generator = torch.Generator().manual_seed(0)
    drawn = [
        torch.zeros(0),
        torch.tensor([2.5]),
        torch.full((6,), -0.75),
        torch.tensor([1.0, 1.0, 0.0, 0.0]),
        torch.tensor([1e-9, 0.0, 40.0, -40.0]),
        torch.randint(0, 3, (30,), generator=generator).float(),
        torch.randn(200, generator=generator),
        1e3 * torch.randn(50, generator=generator),
        torch.cat([torch.full((99,), -5.0), torch.tensor([5.0])]),
    ]
    found = []
    for scores in drawn:
        copies = torch.randint(1, 3, scores.shape, generator=generator)
        for ratio in RATIOS:
            for temperature in TEMPERATURES:
                found.append(
                    {
                        "scores": scores.tolist(),
                        "copies": copies.tolist(),
                        "ratio": ratio,
                        "temperature": temperature,
                    }
                )
    return found


def weights(
    scores: Tensor, copies: Tensor, ratio: float, temperature: float, regulariser: Any = "entropic"
) -> Tensor:
    """Python's weights of pairs ``[P]``: every pair is solved as its stored edges, in float64."""
    if scores.numel() == 0:
        return scores.double()
    stored = soft_top_r(
        scores.double().repeat_interleave(copies),
        ratio,
        temperature=temperature,
        regulariser=regulariser,
    )
    return stored[copies.cumsum(0) - 1]


def expected(problem: dict[str, Any]) -> Tensor:
    return weights(
        torch.tensor(problem["scores"], dtype=torch.float64),
        torch.tensor(problem["copies"], dtype=torch.long),
        problem["ratio"],
        problem["temperature"],
        problem.get("regulariser", "entropic"),
    )


def cycles(count: int, nodes: int = 8, **given: Any) -> list[PageGraph]:
    """Undirected cycles with random scores, right and wrong in turn, in three classes."""
    generator = torch.Generator().manual_seed(1)
    angle = torch.arange(nodes) * (2 * torch.pi / nodes)
    ring = torch.arange(nodes)
    return [
        PageGraph(
            **{
                "name": f"graph {number}",
                "positions": torch.stack([angle.cos(), angle.sin()], dim=1),
                "edges": torch.stack([ring, ring.roll(-1)]),
                "scores": torch.randn(nodes, generator=generator),
                "copies": torch.full((nodes,), 2),
                "probabilities": (0.2, 0.3, 0.5),
                "predicted": f"class {number % 3}",
                "truth": f"class {number % 3 if number % 2 else (number + 1) % 3}",
                "right": bool(number % 2),
                "confidence": (number * 37 % 100) / 100,
                **given,
            }
        )
        for number in range(count)
    ]


def settle(page: Any) -> None:
    """Wait until the page has drawn."""
    frame = "new Promise(ok => requestAnimationFrame(() => setTimeout(ok)))"
    for _ in range(3):  # cards learn that they are seen in one frame, and are drawn in the next
        page.evaluate(frame)


def data_of(path: Path) -> dict[str, Any]:
    """What a page holds, read as a browser would find it."""

    class Finder(HTMLParser):
        inside = False
        text = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = tag == "script" and ("id", "data") in attrs

        def handle_endtag(self, tag: str) -> None:
            self.inside = False

        def handle_data(self, data: str) -> None:
            self.text += data if self.inside else ""

    finder = Finder()
    finder.feed(path.read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(finder.text)
    return found
