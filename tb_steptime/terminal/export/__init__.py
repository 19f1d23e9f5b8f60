"""Exports for other programs: scalars for TensorBoard, tables, flame graphs."""
