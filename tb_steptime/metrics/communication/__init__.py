"""What ranks exchange: each collective, how much of it no computation hides, and what of that may be waiting."""
