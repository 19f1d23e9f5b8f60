"""Replaces what names a machine in answers, so that a report does not reveal it.

    myhost_4711                    ->  worker_4711     torch names a worker by host and process unless told otherwise
    /home/me/job/train.py(54)      ->  train.py(54)    in summaries that were written with --keep-paths

The replacement is made in the encoded text of the answers, so that files, headlines and addresses agree.
"""

from __future__ import annotations

import re

import msgspec

from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.private_paths import passed_on, replaced
from tb_steptime.serve.report.events import IncludedEvents
from tb_steptime.serve.report.flames import IncludedFlames
from tb_steptime.serve.report.recorded import IncludedAnswers
from tb_steptime.serve.wire import Index, encode


def without_machine(recorded: IncludedAnswers) -> bytes:
    """Returns the answers as JSON."""
    text = encode(recorded)
    if recorded.keeps_paths:
        text = replaced(text, passed_on([text]))
    return _renamed(text, recorded.index)


def events_without_machine(events: IncludedEvents | IncludedFlames, index: Index) -> bytes:
    """Does the same for a span's events or flame graphs, which hold whole paths. The paths of one span are shortened
    without regard to other spans, as in a summary."""
    text = encode(events)
    return _renamed(replaced(text, passed_on([text])), index)


def _renamed(text: bytes, index: Index) -> bytes:
    names = _new_names(index)
    if not names:
        return text
    either = re.compile(b"|".join(re.escape(_inside(name)) for name in sorted(names, key=len, reverse=True)))
    written = {_inside(name): new.encode() for name, new in names.items()}
    return either.sub(lambda found: written[found[0]], text)


def _new_names(index: Index) -> dict[str, str]:
    """Returns new names for the workers that are named by host and process."""
    workers = passed_on_workers((run.name, worker.name) for run in index.runs for worker in run.workers)
    return {name: new for name, new in workers.items() if new != name}


def _inside(name: str) -> bytes:
    """Returns a text as it appears inside a JSON string."""
    return msgspec.json.encode(name)[1:-1]
