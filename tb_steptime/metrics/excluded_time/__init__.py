"""Time of a recording that is not judged: work from before it, time that its end cuts off, and one-time work."""
