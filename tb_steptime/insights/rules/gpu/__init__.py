"""Cards about kernels that could be faster. The host floor (`metrics/idle/host_floor.py`) limits their gain."""
