"""The labels, by kind of job."""
