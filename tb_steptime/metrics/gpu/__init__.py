"""What a GPU does: utilization, SM efficiency, occupancy, collectives."""
