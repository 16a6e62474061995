"""Molecules drawn by RDKit, their bonds highlighted as strongly as the attention they get."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from numpy.typing import NDArray

from gsina.errors import InputError
from gsina.explain.pictures.graphs import (
    HEIGHT,
    TITLE,
    TRUE,
    WIDTH,
    Picture,
    draw_subgraphs,
    make_picture,
)
from gsina.graphs.packed import PackedGraphs
from gsina.molecules.features import parse
from gsina.training.evaluate import Predictions

#: Dots of an inch.
DOTS = 200


def draw_molecules(
    graphs: PackedGraphs,
    predictions: Predictions,
    smiles: Sequence[str],
    path: Path,
    **options: Any,
) -> list[int]:
    """Draw a few molecules of every class.

    See :func:`~gsina.explain.pictures.graphs.draw_subgraphs`.

    The colour of a bond is its attention as it is: white for 0, full colour for 1.

    Args:
        graphs: The molecules as graphs, with one label each.
        predictions: The predictions for these very graphs.
        smiles: Their SMILES strings, in order.
        path: The picture.
        **options: Those of ``draw_subgraphs``.

    Raises:
        InputError: The strings do not belong to the graphs.
    """
    if len(smiles) != len(graphs):
        raise InputError(f"got {len(smiles)} SMILES strings for {len(graphs)} graphs.")

    def paint(axes: Axes, graph: int) -> None:
        picture = make_picture(graphs, predictions, graph, lambda nodes, _: np.zeros((nodes, 2)))
        axes.imshow(molecule_image(smiles[graph], picture), interpolation="lanczos")
        axes.set_axis_off()

    # The highlights are of bonds; a node's attention is the largest of its bonds.
    bare = Predictions(predictions.logits, predictions.edge)
    return draw_subgraphs(graphs, bare, path, paint=paint, **options)


def molecule_image(smiles: str, picture: Picture) -> NDArray[Any]:
    """One molecule as an image ``[height, width, 4]``.

    Raises:
        InputError: The molecule has other bonds than the graph.
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    molecule = parse(smiles)
    wanted = {tuple(sorted(ends)) for ends in picture.ends.tolist()}
    number = {
        tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))): bond.GetIdx()
        for bond in molecule.GetBonds()
    }
    if wanted != set(number):
        raise InputError(f"the bonds of {smiles} are not the edges of its graph.")
    full = np.array(to_rgb(TRUE))
    colours = {
        number[tuple(sorted(ends))]: tuple(1 - weight * (1 - full))
        for ends, weight in zip(picture.ends.tolist(), picture.edge.tolist(), strict=True)
    }
    drawer = rdMolDraw2D.MolDraw2DCairo(int(WIDTH * DOTS), int((HEIGHT - TITLE) * DOTS))
    options: Any = drawer.drawOptions()  # its stubs give it no settings
    options.useBWAtomPalette()  # the red of oxygen would read as attention
    options.padding = 0.05
    options.bondLineWidth = 2
    options.highlightBondWidthMultiplier = 10
    options.minFontSize = 12
    rdMolDraw2D.PrepareAndDrawMolecule(
        drawer,
        molecule,
        highlightAtoms=[],
        highlightBonds=list(colours),
        highlightBondColors=colours,
    )
    drawer.FinishDrawing()
    image: NDArray[Any] = imread(BytesIO(drawer.GetDrawingText()), format="png")
    return image
