"""The commands' output about the ranks of a job."""
