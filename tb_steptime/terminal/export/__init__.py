"""What other programs are given: scalars for TensorBoard, tables, flame graphs."""
