"""Step Insights for TensorBoard: where the step time of a PyTorch training job goes, why the GPU idles, what to do."""

from __future__ import annotations

#: As in `typing`, which type checkers know by this name; importing that takes ten times as long as all of this.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import os

    from tb_steptime.notebook.comparing import RunComparison
    from tb_steptime.notebook.snapshot import SnapshotSummary
    from tb_steptime.notebook.span import Span
    from tb_steptime.notebook.spans import Spans

__all__ = ["compare", "open", "snapshot"]

__version__ = "0.3.0"


def open(path: str | os.PathLike[str], *, names_from: str | os.PathLike[str] | None = None) -> Spans:
    """The recordings under a path: a trace or summary file, a log directory, a run's folder, or a worker in it.

    What is measured of them: see `docs/python_api.md`. names_from: an eager recording of the same job, or a folder with
    one, which names the ops and modules of what runs in captured graphs; without it one is taken from the log
    directory, if there is any. Raises TraceError where there is nothing of the kind.
    """
    from tb_steptime.notebook.opening import open_path

    return open_path(path, names_from)


def compare(
    base: str | os.PathLike[str] | Spans | Span, candidate: str | os.PathLike[str] | Spans | Span
) -> RunComparison:
    """What changed from one run to another, as `tb-steptime compare` says it; each a path, or what `open` gave.

    Raises TraceError where one cannot be read, ValueError where one is several runs.
    """
    from tb_steptime.notebook.comparing import compare

    return compare(base, candidate)


def snapshot(path: str | os.PathLike[str], *, since: str | os.PathLike[str] | None = None) -> SnapshotSummary:
    """What a memory snapshot of PyTorch's CUDA allocator says, as `tb-steptime snapshot` prints it: bytes, times in us.

    since: an earlier one of the same job, for what has grown. A snapshot is never unpickled. Raises TraceError where a
    file is none, or cannot be read.
    """
    from tb_steptime.notebook.snapshot import snapshot_of

    return snapshot_of(path, since)
