"""Time of a recording that is not judged (work from before it, time that its end cuts off, one-time work), and the
steady step that remains without it and without all other excess."""
