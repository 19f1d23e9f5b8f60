"""The ranks of a job held beside each other: which are there, what each step takes on each, who waits for whom."""
