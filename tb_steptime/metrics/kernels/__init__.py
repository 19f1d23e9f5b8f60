"""The kernel table, launch shapes, waste, figures in time bins."""
