"""Forward, backward, optimizer: where they begin and end, and what belongs to them."""
