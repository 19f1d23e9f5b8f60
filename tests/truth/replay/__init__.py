"""How well a replay reproduces the recording."""
