"""``python -m attack``: try to break the package, and print what survived."""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from attack.campaign import FAMILIES, campaign
from attack.workshop import Workshop


def main() -> int:
    """Run a campaign; the exit code says whether something broke."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    usual = float(os.environ.get("ATTACK_SECONDS", "1800"))
    parser.add_argument("--seconds", type=float, default=usual, help="time for all families")
    parser.add_argument("--seed", type=int, help="by default a new one, which is printed")
    parser.add_argument("--only", help="families with this word in their names")
    parser.add_argument("--brief", action="store_true", help="no more trials than a build has")
    parser.add_argument("--out", type=Path, help="file of the results, as JSON")
    asked = parser.parse_args()
    seed = random.randrange(1 << 31) if asked.seed is None else asked.seed
    chosen = [one for one in FAMILIES if (asked.only or "") in one.name]
    print(f"seed {seed}", flush=True)
    import_all()
    root = Path(tempfile.mkdtemp(prefix="gsina-attack-"))
    shop = Workshop(root / "workshop")
    say = partial(print, flush=True)
    tallies = campaign(shop, asked.seconds, seed, chosen, say, brief=asked.brief)
    tried, survived = (sum(getattr(one, name) for one in tallies) for name in ("tried", "survived"))
    print(f"{'all':<40} {tried:>7} tried {survived:>7} survived")
    if asked.out is not None:
        from gsina.files import save_json
        from gsina.runs.provenance import provenance

        found = {"seed": seed, "seconds": asked.seconds, **provenance()}
        found |= {"finished": datetime.now(UTC).isoformat(timespec="seconds")}
        save_json(asked.out, found | {"families": [tally.record() for tally in tallies]})
    if tried == survived:
        import shutil

        shutil.rmtree(root)
        return 0
    print(f"what broke is in {shop.root}; the same again: --seed {seed}")
    return 1


def import_all() -> None:
    """Import what commands need, once for all processes that are forked from this one."""
    import importlib

    import torch

    torch.set_num_threads(1)
    for name in (
        *("cli", "models.predict", "models.embed", "runs.run", "runs.repeats", "runs.trained"),
        *("explain.new_data", "explain.report", "tuning.study", "formats", "datasets.spmotif"),
        *("formats.json_graphs", "formats.molecule_tables", "formats.node_tables"),
        *("formats.tensor_files", "paper.grid.runner", "methods.gsina", "methods.erm"),
    ):
        importlib.import_module(f"gsina.{name}")


if __name__ == "__main__":
    raise SystemExit(main())
