"""Which time of a recording is not judged: the work from before it, what its end cuts off, and what happens once."""
