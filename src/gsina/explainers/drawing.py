"""One explained graph as an SVG picture, for notebooks."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from gsina.graphs.layout import layout

#: Colours of the marked edges, of those among them that the truth does not have, and of the rest.
MARKED, WRONG, REST = "#d1353a", "#e49d1c", "#8a8a8a"
WIDTH, MOST_HEIGHT, MARGIN = 360.0, 320.0, 14.0
#: Width of a line, and radius of a node, with weight 1.
LINE, DOT = 5.0, 6.0
#: Nodes beyond which a picture is a tangle; its words are kept.
MOST_NODES = 300


def draw_svg(
    num_nodes: int,
    edge_index: Tensor,
    weights: Tensor,
    *,
    node: Tensor | None = None,
    truth: Tensor | None = None,
) -> str:
    """A picture in which the width and the opacity of an edge are its weight.

    Args:
        num_nodes: Number of nodes N.
        edge_index: Ends of the edges ``[2, E]``; both directions of one are one line.
        weights: Weight of every edge ``[E]`` in [0, 1].
        node: Weight of every node ``[N]`` or ``[N, 1]``; ``None`` for dots of one size.
        truth: Whether an edge is in the true explanation ``[E]``; those that are not get another
            colour.
    """
    edges = edge_index.cpu().numpy()
    pairs, which = np.unique(np.sort(edges, axis=0).T, axis=0, return_inverse=True)
    weight = np.zeros(len(pairs))
    np.maximum.at(weight, which.reshape(-1), weights.detach().cpu().double().numpy())
    true = np.ones(len(pairs), dtype=bool)
    if truth is not None:
        true = np.bincount(which.reshape(-1), truth.cpu().numpy(), len(pairs)) > 0
    words = f"{num_nodes} nodes, {len(pairs)} edges; the wider an edge, the larger its weight"
    if num_nodes > MOST_NODES:
        return f"<p>Explanation of a graph too large to draw: {words}.</p>"
    place = layout(num_nodes, pairs.T)
    place = place - place.min(0, initial=0) if not num_nodes else place - place.min(0)
    across, up = place.max(0, initial=0)
    scale = min((WIDTH - 2 * MARGIN) / max(across, 1e-9), (MOST_HEIGHT - 2 * MARGIN) / max(up, 1))
    place = place * scale + MARGIN
    width, height = across * scale + 2 * MARGIN, up * scale + 2 * MARGIN
    size = np.full(num_nodes, 0.5)
    if node is not None:
        size = node.detach().cpu().double().numpy().reshape(-1).clip(0, 1)
    parts = [_line(place[pair], REST, 1.0, 0.35) for pair in pairs]
    for number in np.argsort(weight, kind="stable"):  # the important ones on top
        share = float(weight[number].clip(0, 1))
        colour = MARKED if true[number] else WRONG
        parts.append(_line(place[pairs[number]], colour, LINE * share, share))
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 + (DOT - 2) * share:.1f}" fill="#444" '
        'stroke="#fff" stroke-width="0.8"/>'
        for (x, y), share in zip(place, size, strict=True)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">'
        f"<title>{words}</title>{''.join(parts)}</svg>"
    )


def _line(ends: np.ndarray, colour: str, width: float, opacity: float) -> str:
    (x1, y1), (x2, y2) = ends
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:.2f}" stroke-opacity="{opacity:.2f}" stroke-linecap="round"/>'
    )
