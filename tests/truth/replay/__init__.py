"""How well a replay gives back what was recorded."""
