"""How RDKit draws a molecule: places of the atoms, lines of the bonds, and labels.

RDKit lays the molecule out, writes its aromatic rings as single and double bonds, chooses wedges
and the side of hydrogens and charges, and draws all that as SVG. The lines and letters are read off
that drawing, so that the page can draw them again in its own colours, one bond or atom at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from gsina.molecules.features import parse

#: Points of RDKit's drawing for the usual length of a bond, 1.5 angstroms.
BOND = 30.0
#: Height and half the width of a capital letter over the size of its type.
CAPITAL, HALF_CAPITAL = 0.716, 0.36
#: Lines thinner than this are the steps of a hashed wedge.
THIN = 1.5

Kind = Literal["line", "hash", "area"]


class Stroke(NamedTuple):
    """A part of the drawing of a bond.

    Attributes:
        kind: A ``line``, a step of a hashed wedge (``hash``), or a filled ``area`` (a wedge).
        ends: The two atoms of the bond; both the same for what belongs to one atom, such as the
            bond to a hydrogen that is no atom of the graph.
        points: Corners ``((x, y), ...)`` in lengths of a bond, y upwards.
    """

    kind: Kind
    ends: tuple[int, int]
    points: tuple[tuple[float, float], ...]


class Letter(NamedTuple):
    """A letter, digit or sign of the label of an atom.

    Attributes:
        atom: The atom.
        text: The letter.
        x: Where it starts, in lengths of a bond.
        y: Its base line, upwards.
        size: Size of the type.
    """

    atom: int
    text: str
    x: float
    y: float
    size: float


#: Larger molecules are drawn as any graph is: RDKit takes a minute for a chain of 3,000 atoms.
LARGEST_DRAWN = 800


class MoleculeDrawing(NamedTuple):
    """How a chemist would draw it.

    Attributes:
        positions: Places of the atoms ``[N, 2]`` in lengths of a bond, y upwards.
        symbols: Element of each atom, with its charge.
        bonds: Pairs of atoms with a bond, under both directions.
        strokes: The lines.
        letters: The labels.
    """

    positions: NDArray[np.float64]
    symbols: tuple[str, ...]
    bonds: frozenset[tuple[int, int]]
    strokes: tuple[Stroke, ...]
    letters: tuple[Letter, ...]

    def matches(self, num_nodes: int, pairs: list[tuple[int, int]]) -> bool:
        """Whether a graph has these very atoms and bonds."""
        return num_nodes == len(self.symbols) and all(pair in self.bonds for pair in pairs)


def draw_molecule(smiles: str) -> MoleculeDrawing | None:
    """The drawing of a SMILES string, or ``None`` where RDKit cannot read it or would take long."""
    try:
        molecule = parse(smiles)
    except ValueError:
        return None
    if molecule.GetNumAtoms() > LARGEST_DRAWN:
        return None
    from rdkit.Chem import rdDepictor
    from rdkit.Chem.Draw import rdMolDraw2D

    rdDepictor.Compute2DCoords(molecule, canonOrient=True)
    prepared = rdMolDraw2D.PrepareMolForDrawing(molecule)
    drawer = rdMolDraw2D.MolDraw2DSVG(-1, -1, -1, -1, True)  # as large as it is, letters as text
    options: Any = drawer.drawOptions()  # its stubs give it no settings
    options.useBWAtomPalette()  # a bond between two colours would be cut in halves
    options.scalingFactor = BOND / 1.5
    options.padding = 0.0
    options.baseFontSize = 0.7  # of 0.6: the page draws small
    options.prepareMolsBeforeDrawing = False
    drawer.DrawMolecule(prepared)
    drawer.FinishDrawing()
    count = molecule.GetNumAtoms()
    places = [drawer.GetDrawCoords(atom) for atom in range(prepared.GetNumAtoms())]
    owner = [_heavy(prepared, atom, count) for atom in range(len(places))]
    found = list(_elements(drawer.GetDrawingText()))
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    return MoleculeDrawing(
        positions=np.array([_upwards(place.x, place.y) for place in places[:count]]),
        symbols=tuple(
            atom.GetSymbol() + _charge(atom.GetFormalCharge()) for atom in molecule.GetAtoms()
        ),
        bonds=frozenset(ends + [(end, start) for start, end in ends]),
        strokes=tuple(_strokes(found, owner)),
        letters=tuple(_letters(found, prepared, places, owner)),
    )


class _Element(NamedTuple):
    """A path or a letter of RDKit's SVG, with the atoms that it belongs to."""

    atoms: tuple[int, ...]
    values: dict[str, str]
    style: dict[str, str]
    text: str


def _elements(svg: str) -> Iterator[_Element]:
    for element in ElementTree.fromstring(svg.encode("iso-8859-1", "replace")):
        values = dict(element.attrib)
        atoms = tuple(map(int, re.findall(r"atom-(\d+)", values.get("class", ""))))
        if atoms:  # the others are the background, and where two lines meet
            style = dict(part.split(":") for part in values.get("style", "").split(";") if part)
            yield _Element(atoms, values, style, element.text or "")


def _strokes(found: list[_Element], owner: list[int]) -> Iterator[Stroke]:
    for atoms, values, style, _ in found:
        if "d" not in values:
            continue
        numbers = list(map(float, re.findall(r"-?\d+(?:\.\d+)?", values["d"])))
        points = tuple(_upwards(*at) for at in zip(numbers[::2], numbers[1::2], strict=True))
        kind: Kind = "line"
        if style.get("fill", "none") != "none":
            kind = "area"
        elif float(style.get("stroke-width", "2px").removesuffix("px")) < THIN:
            kind = "hash"
        yield Stroke(kind, (owner[atoms[0]], owner[atoms[-1]]), points)


def _letters(
    found: list[_Element], molecule: Any, places: list[Any], owner: list[int]
) -> Iterator[Letter]:
    """The letters, moved so that the element stands around the place of its atom.

    RDKit does not know which type will be used, and writes the base lines a little low.
    """
    labels: dict[int, list[tuple[str, float, float, float]]] = {}
    for atoms, values, style, text in found:
        if "d" not in values:
            size = float(style["font-size"].removesuffix("px"))
            where = float(values["x"]), float(values["y"])
            labels.setdefault(atoms[0], []).append((text, *where, size))
    for atom, label in labels.items():
        large = max(size for *_, size in label)
        first = molecule.GetAtomWithIdx(atom).GetSymbol()[0]
        plain = [letter for letter in label if letter[3] == large]
        anchor = next((letter for letter in plain if letter[0] == first), plain[0])
        right = places[atom].x - HALF_CAPITAL * large - anchor[1]
        down = places[atom].y + CAPITAL / 2 * large - anchor[2]
        for text, x, y, size in label:
            yield Letter(owner[atom], text, *_upwards(x + right, y + down), size / BOND)


def _heavy(molecule: Any, atom: int, count: int) -> int:
    """The atom itself, or the neighbour of a hydrogen that RDKit added for the drawing."""
    if atom < count:
        return atom
    return int(molecule.GetAtomWithIdx(atom).GetNeighbors()[0].GetIdx())


def _upwards(x: float, y: float) -> tuple[float, float]:
    return x / BOND, -y / BOND


_CHARGES = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


def _charge(charge: int) -> str:
    """A charge as chemists write it: one plus or minus, with the number before it from two on."""
    if charge == 0:
        return ""
    sign = "+" if charge > 0 else "-"
    return (sign if abs(charge) == 1 else f"{abs(charge)}{sign}").translate(_CHARGES)
