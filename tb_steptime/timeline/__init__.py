"""The timeline of a span: its events in lanes, kept in a file of columns and answered by window and level of detail."""
