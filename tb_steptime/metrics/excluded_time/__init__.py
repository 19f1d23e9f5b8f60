"""The time of a recording that is not judged, which is work from before it, time that its end cuts off and one-time
work; and the steady step that remains without it and without all other excess."""
