"""How far an answer can be trusted: probabilities, conformal sets and intervals, domain."""
