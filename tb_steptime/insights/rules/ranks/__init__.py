"""Cards about the ranks of a job: the slowest one decides how long a step is."""
