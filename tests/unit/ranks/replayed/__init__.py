"""The joint replay of the ranks of a job."""
