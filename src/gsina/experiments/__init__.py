"""The paper's tables as recipes: runner, results, report."""
