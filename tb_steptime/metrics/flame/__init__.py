"""Where time goes by call path: frames of Python, modules, ops and kernels as one tree, for the flame graph."""
