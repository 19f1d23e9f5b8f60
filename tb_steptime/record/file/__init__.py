"""The recorder's file: a fixed beginning and a ring of rows."""
