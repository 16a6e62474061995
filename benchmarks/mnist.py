"""MNIST-75sp from its raw images: processors in use, and peak memory of all processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.report import Claim, Report, Table
from gsina.parallel import cores

#: Images of each file of a quick run.
QUICK = 1200
#: Bounds memory from above: the peak of this process, and for each worker that of the largest.
_PREPARE = """
import json, resource, sys, time
from gsina.datasets.images.mnist75sp import load
from gsina.parallel import cores
begin, before = time.perf_counter(), time.process_time()
data = load(limit=json.loads(sys.argv[1]))
seconds = time.perf_counter() - begin
own, workers = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({
    "graphs": sum(map(len, data.splits.values())),
    "seconds": seconds,
    "processors": (time.process_time() - before + workers.ru_utime + workers.ru_stime) / seconds,
    "gib": (own.ru_maxrss + cores() * workers.ru_maxrss) / 2**20,
}))
"""


def run(quick: bool) -> Report:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", _PREPARE, json.dumps(QUICK if quick else None)],
            env=os.environ | {"GSINA_CACHE": cache},
            capture_output=True,
            text=True,
        )
    if done.returncode:  # most likely the raw files are not there
        lines = done.stderr.strip().splitlines() or ["it was killed"]
        return Report([Table(f"not measured: {lines[-1]}", ("what",), [])])
    found = json.loads(done.stdout)
    columns = ("graphs", "seconds", "processors in use", "peak GiB, at most")
    row = (
        f"{found['graphs']:,}",
        *(round(found[key], 2) for key in ("seconds", "processors", "gib")),
    )
    return Report(
        [Table("superpixels and graphs, nothing cached", columns, [row])],
        [
            Claim("share of the processors in use", found["processors"] / cores(), 0.8, True),
            Claim("peak GiB of all processes, at most", found["gib"], 4.0),
        ],
    )
