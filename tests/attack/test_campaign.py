"""The attacks within the budget of every build, and that what breaks would be noticed.

Longer: ``make attack``, or ``PYTHONPATH=tests python -m attack --seconds 1800 --seed 7``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Seconds of one core that a build spends on attacks.
BUDGET = 110

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attacks fork processes")


@pytest.mark.slow
def test_nothing_breaks(tmp_path: Path) -> None:
    out = tmp_path / "attack.json"
    asked = ("-m", "attack", "--seconds", str(BUDGET), "--seed", "0", "--brief")
    places = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *asked, "--out", str(out)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    families = json.loads(out.read_text())["families"]
    assert all(one["tried"] >= 1 or one.get("skipped") for one in families)
    assert sum(one["tried"] for one in families) > 1000
