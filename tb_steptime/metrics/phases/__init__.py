"""Forward, backward, optimizer: where the phases begin and end, and which work belongs to them."""
