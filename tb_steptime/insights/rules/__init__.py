"""One rule per file, in the folder of what it judges."""
