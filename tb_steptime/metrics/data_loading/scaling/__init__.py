"""How the step changes with the number of workers."""
