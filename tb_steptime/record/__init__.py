"""For training scripts: record what the processes of a DataLoader do, and set up torch.profiler well.

    loader = LoaderRecorder("logs/run").watch(loader)

Imports torch when it is used, and nothing else of this package.
"""

from tb_steptime.record.recorder import LoaderRecorder

__all__ = ["LoaderRecorder"]
