"""Two recordings of a job, or more, held against each other: what changed, by how much, and whether it is noise."""
