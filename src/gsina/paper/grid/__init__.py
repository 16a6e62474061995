"""Many runs: jobs, workers, results."""
