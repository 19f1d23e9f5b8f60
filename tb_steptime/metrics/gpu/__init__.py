"""Measurements of a GPU: utilization, SM efficiency, occupancy, collectives."""
