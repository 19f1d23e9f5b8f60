"""Step Insights for TensorBoard: where the step time of a PyTorch training job goes, why the GPU idles, what to do."""

__version__ = "0.2.0"
