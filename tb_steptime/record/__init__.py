"""For training scripts: record what the processes of a DataLoader do, and set up torch.profiler well.

Imports torch when it is used, and nothing else of this package.
"""
