"""What a model keeps of how its files were read, checked before it is believed.

The folder of a model may come from anywhere, and what it says here decides how files are read. Only
what is known is checked: a format may keep more.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError


class _Checked(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Moments(_Checked):
    mean: list[FiniteFloat]
    scale: list[FiniteFloat]


class _Reading(_Checked):
    kind: str
    scaling: dict[str, _Moments] = {}


class _Graphs(_Reading):
    directed: bool = False
    features: dict[str, Annotated[int, Field(ge=0)]] = {}
    edge_constant: list[float] | None = None


class _MoleculeColumns(_Checked):
    smiles: str | list[str]


class _Descriptors(_Checked):
    kinds: list[str]
    names: list[str]


class _Molecules(_Reading):
    columns: _MoleculeColumns
    features: str = "ogb"
    descriptors: _Descriptors | None = None


class _NodeColumns(_Checked):
    id: str
    source: str
    target: str
    targets: list[str] = []


class _Encoding(_Checked):
    name: str


class _Nodes(_Reading):
    columns: _NodeColumns | None = None
    directed: bool = False
    features: list[str] | None = None
    encoding: dict[str, list[_Encoding]] | None = None


KINDS: dict[str, type[_Reading]] = {"graphs": _Graphs, "molecules": _Molecules, "nodes": _Nodes}


def check_reading(reading: Any) -> None:
    """Refuse what no format could have kept.

    Raises:
        ValueError: With the first field that is wrong.
    """
    kind = reading.get("kind") if isinstance(reading, dict) else None
    try:
        KINDS.get(str(kind), _Reading).model_validate(reading)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(f"no format keeps {place} like this: {first['msg']}") from error
