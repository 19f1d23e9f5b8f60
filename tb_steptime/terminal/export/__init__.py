"""What `tb-steptime export` writes: scalars for TensorBoard, tables for everything else."""
