"""What stands on which track, in which row, colour and name: read off the trace once, when its events are written."""
