"""Cards about steps that differ, and about what a recording lacks."""
