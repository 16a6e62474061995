"""Speed and memory, always as ratios within one run: ``python -m benchmarks [--quick] [names]``.

A benchmark is a module of this package with a function ``run(quick: bool) -> Report``.
"""
