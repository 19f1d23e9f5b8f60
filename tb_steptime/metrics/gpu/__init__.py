"""Measurements of a GPU: utilization, SM efficiency, occupancy and hardware counters."""
