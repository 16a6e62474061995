"""The recommended recipe on fresh draws of the data, taken together: who is ahead at which bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gsina.paper.report.comparisons import compare, in_words
from gsina.paper.report.summaries import Summary, ours, pair
from gsina.paper.tables.factors import EXPLANATIONS
from gsina.paper.tables.recommended import BIASES, FRESH

#: Apart enough for seeds of different draws to stay apart.
STEP = 1000
#: The column that has the runs of all.
ALL = "all three"


def joined(summaries: Sequence[Summary], columns: dict[str, str]) -> list[Summary]:
    """Columns put together: runs of the same row are one cell, whatever column they are from.

    Args:
        summaries: What is known of the cells of a table.
        columns: The column that is made, by the name of one that goes into it.

    Returns:
        Cells whose seeds are numbered on from column to column, so that rows can be compared run
        by run. Columns without a new name are left out.
    """
    places = {column: place for place, column in enumerate(columns)}
    found: dict[tuple[str, str], Summary] = {}
    for one in summaries:
        column = one.cell.column
        if column not in columns:
            continue
        key = (one.cell.row, columns[column])
        values = {STEP * places[column] + seed: value for seed, value in one.values.items()}
        cell = replace(one.cell, column=columns[column])
        old = found.get(key, replace(one, cell=cell, values={}, results=()))
        results = old.results + one.results
        found[key] = replace(old, values=old.values | values, results=results)
    return [one for one in found.values() if one.values]


def fresh_draws(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of a table: method, bias, accuracy, explanation, runs, and GSINA's lead over it.

    The last rows have the runs at all biases, so that one test answers for all three.
    """
    names = {f"b = {bias}, draw {draw}": f"b = {bias}" for bias in BIASES for draw in FRESH}
    together = joined(summaries, names) + joined(summaries, dict.fromkeys(names, ALL))
    leads = {
        (one.against, one.column): in_words(one)
        for other in dict.fromkeys(one.cell.row for one in together)
        for one in compare(together, "GSINA", other)
        if other != "GSINA"
    }
    order = [*dict.fromkeys(names.values()), ALL]
    return [
        [
            one.cell.row,
            one.cell.column,
            ours(one, 1),
            *(
                "" if (found := one.further(extra)) is None else pair(*found, 1)
                for extra in EXPLANATIONS
            ),
            str(len(one.values)),
            leads.get((one.cell.row, one.cell.column), ""),
        ]
        for one in sorted(together, key=lambda one: order.index(one.cell.column))
    ]
