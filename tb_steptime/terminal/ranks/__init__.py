"""What the commands print of the ranks of a job."""
