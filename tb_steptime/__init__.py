"""Step Insights for TensorBoard: where the step time of a PyTorch training job goes, why the GPU idles, what to do."""

from __future__ import annotations

#: Type checkers know this name from `typing`; importing that takes ten times as long as everything else here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import os

    from tb_steptime.notebook.comparing import RunComparison
    from tb_steptime.notebook.span import Span
    from tb_steptime.notebook.spans import SnapshotSummary, Spans

__all__ = ["compare", "open", "snapshot"]

__version__ = "0.3.0"


def open(path: str | os.PathLike[str], *, names_from: str | os.PathLike[str] | None = None) -> Spans:
    """The recordings under a path: a trace or summary file, a log directory, a run's folder, or a worker in it.

    For their figures see `docs/python_api.md`. names_from: an eager recording of the same job, or a folder with one,
    which names the ops and modules of kernels in captured CUDA graphs; without it, one from the log directory is used
    if there is any. Raises TraceError where nothing is found.
    """
    from tb_steptime.notebook.spans import open_path

    return open_path(path, names_from)


def compare(
    base: str | os.PathLike[str] | Spans | Span, candidate: str | os.PathLike[str] | Spans | Span
) -> RunComparison:
    """Returns what changed from one run to another, as `tb-steptime compare` prints it. Each run is a path, or what
    `open` returned.

    Raises TraceError where one cannot be read, ValueError where one contains several runs.
    """
    from tb_steptime.notebook.comparing import compare

    return compare(base, candidate)


def snapshot(path: str | os.PathLike[str], *, since: str | os.PathLike[str] | None = None) -> SnapshotSummary:
    """Returns the content of a memory snapshot of PyTorch's CUDA allocator, as `tb-steptime snapshot` prints it: bytes,
    times in us.

    since: an earlier one of the same job, to show what has grown. A snapshot is never unpickled. Raises TraceError
    where a file is not a snapshot, or cannot be read.
    """
    from tb_steptime.notebook.spans import snapshot_of

    return snapshot_of(path, since)
