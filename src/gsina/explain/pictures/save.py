"""Figures as files."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from gsina.files import write_aside


def save_figure(figure: Figure, path: Path, dpi: int = 200) -> None:
    """Write a figure, whole or not at all; the suffix is the format (``.png``, ``.pdf``...)."""
    with write_aside(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png", dpi=dpi)
