"""What of a machine stands in answers, and what stands for it in a report.

    myhost_4711                    ->  worker1     torch names a worker by host and process unless told otherwise
    /home/me/job/train.py(54)      ->  train.py(54)    in summaries that were written with --keep-paths

What is replaced is the text of the answers: files, headlines and addresses then agree.
"""

from __future__ import annotations

import re

import msgspec

from tb_steptime.ingest.private_paths import passed_on, replaced
from tb_steptime.serve.report.recorded import Recorded
from tb_steptime.serve.wire import RunEntry, encode

#: `socket.gethostname()` and the process, as torch.profiler.tensorboard_trace_handler joins them.
_HOST_AND_PROCESS = re.compile(r".*[^\W\d].*_\d+", re.DOTALL)


def without_machine(recorded: Recorded) -> bytes:
    """The answers as JSON."""
    text = encode(recorded)
    if recorded.keeps_paths:
        text = replaced(text, passed_on([text]))
    names = {name: new for run in recorded.index.runs for name, new in _new_names(run).items()}
    if not names:
        return text
    either = re.compile(b"|".join(re.escape(_inside(name)) for name in sorted(names, key=len, reverse=True)))
    written = {_inside(name): new.encode() for name, new in names.items()}
    return either.sub(lambda found: written[found[0]], text)


def _new_names(run: RunEntry) -> dict[str, str]:
    """Of the workers of a run that are named by host and process; a name that another worker has is not given twice."""
    taken = {worker.name for worker in run.workers}
    free = (name for number in range(1, 2 * len(taken) + 1) if (name := f"worker{number}") not in taken)
    return {worker.name: next(free) for worker in run.workers if _HOST_AND_PROCESS.fullmatch(worker.name)}


def _inside(name: str) -> bytes:
    """As it stands inside a text in JSON."""
    return msgspec.json.encode(name)[1:-1]
