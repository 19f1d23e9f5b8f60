"""How much ops compute and move at least, by formulas, and what GPUs can do at most."""
