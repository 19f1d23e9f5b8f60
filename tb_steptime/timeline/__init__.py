"""The timeline of a span: its events on tracks, in a file of columns, served by window and level of detail."""
