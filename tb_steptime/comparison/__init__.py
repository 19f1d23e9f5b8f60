"""Two or more recordings of a job, compared: what changed, by how much, and whether it is noise."""
