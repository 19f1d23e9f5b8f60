"""What a store reports about its spans, once it has read them."""

import subprocess
import sys
import time

from tb_steptime.ingest import reader_process
from tb_steptime.ingest.states import SpanState
from tests.drawn.forked_readers import START

#: A machine may be busy with other work: only a test that would wait forever must fail.
PATIENCE_SECONDS = 300.0


def until(condition, seconds=PATIENCE_SECONDS):
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return result


def entries(made, *, work=True):
    return {entry.file: entry for run in made.index(work=work).runs for worker in run.workers for entry in worker.spans}


def all_read(made):
    """Every span has been read or has failed, and the queue is empty: a span is ready a moment before the thread that
    read it leaves the queue."""

    def at_rest():
        found = entries(made)
        ended = all(entry.state in (SpanState.READY, SpanState.FAILED) for entry in found.values())
        return ended and not made.reader.places() and found

    return until(at_rest)


def replace_program(monkeypatch, source):
    """Makes processes run this source in place of the reader."""
    popen = subprocess.Popen

    def start(command, **options):
        return popen([sys.executable, "-c", source, *command[3:]], **options)

    monkeypatch.setattr(reader_process.subprocess, "Popen", start)
    monkeypatch.setattr(reader_process, "start", START)
