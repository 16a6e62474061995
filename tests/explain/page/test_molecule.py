"""The drawing of RDKit, as lines and letters."""

from __future__ import annotations

from collections import Counter

import pytest

from gsina.explain.page.molecule import MoleculeDrawing, draw_molecule


def drawing(smiles: str) -> MoleculeDrawing:
    found = draw_molecule(smiles)
    assert found is not None
    return found


def label(found: MoleculeDrawing, atom: int) -> str:
    return "".join(letter.text for letter in found.letters if letter.atom == atom)


@pytest.mark.parametrize(
    ("smiles", "atom", "text"),
    [
        ("CCO", 2, {"OH", "HO"}),
        ("CCO", 0, {""}),
        ("CN", 1, {"NH2", "H2N"}),
        ("C[NH3+]", 1, {"NH3+", "H3N+"}),
        ("CC(=O)[O-]", 3, {"O-"}),
        ("c1cc[nH]c1", 3, {"NH", "HN"}),
        ("CCl", 1, {"Cl"}),
        ("[13CH4]", 0, {"13CH4"}),
        ("[Fe+3]", 0, {"Fe3+"}),
    ],
)
def test_labels_have_hydrogens_and_charges(smiles: str, atom: int, text: set[str]) -> None:
    assert label(drawing(smiles), atom) in text


def test_an_aromatic_ring_is_three_double_bonds() -> None:
    found = drawing("c1ccccc1")
    lines = Counter(frozenset(stroke.ends) for stroke in found.strokes)
    assert sorted(lines.values()) == [1, 1, 1, 2, 2, 2]
    assert {stroke.kind for stroke in found.strokes} == {"line"}


def test_stereo_centres_have_wedges_and_mirror_images_differ() -> None:
    one, other = (drawing(f"O[C{sign}](F)(Cl)Br") for sign in ("@", "@@"))
    kinds = [{stroke.kind for stroke in found.strokes} for found in (one, other)]
    assert any(kind & {"hash", "area"} for kind in kinds)
    assert one.strokes != other.strokes
    assert {stroke.kind for stroke in drawing("OC(F)(Cl)Br").strokes} == {"line"}


def test_a_hydrogen_that_is_only_drawn_belongs_to_its_neighbour() -> None:
    found = drawing("C1CC[C@@H]2CCCC[C@H]2C1")
    drawn = [letter for letter in found.letters if letter.text == "H"]
    assert {letter.atom for letter in drawn} == {3, 8}
    assert len(found.positions) == len(found.symbols) == 10
    alone = {stroke.ends for stroke in found.strokes if stroke.ends[0] == stroke.ends[1]}
    assert alone == {(3, 3), (8, 8)}


def test_bonds_end_at_their_atoms_and_letters_stand_around_theirs() -> None:
    found = drawing("CCO")
    first = next(stroke for stroke in found.strokes if set(stroke.ends) == {0, 1})
    for point, atom in zip(first.points, first.ends, strict=True):
        assert point == pytest.approx(tuple(found.positions[atom]), abs=0.02)
    letter = next(letter for letter in found.letters if letter.text == "O")
    x, y = found.positions[2]
    assert letter.x < x < letter.x + letter.size
    assert letter.y < y < letter.y + letter.size


def test_what_rdkit_cannot_read_has_no_drawing() -> None:
    assert draw_molecule("no molecule") is None
