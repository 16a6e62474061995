"""How far an explanation can be believed: what the model says with and without what it names."""
