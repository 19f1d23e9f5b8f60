"""The phases of a step, such as forward, backward and optimizer: when they begin and end, and which work belongs to
them."""
