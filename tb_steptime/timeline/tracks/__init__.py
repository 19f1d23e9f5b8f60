"""The track, row, colour and name of each event: determined once from the trace, when its events are written."""
