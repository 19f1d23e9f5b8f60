"""Decoders of JSON types, created from many threads at once."""

import subprocess
import sys

#: Each thread is the first to use some of the types.
MEETING = """
import sys, threading
import msgspec
from tb_steptime.analyses import ANALYSES
from tb_steptime.files.decoders import decoder

texts = [msgspec.json.encode(each.nothing) for each in ANALYSES]
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)

def meet():
    start.wait()
    for each, text in zip(ANALYSES, texts):
        decoder(each.result).decode(text)

threads = [threading.Thread(target=meet) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
"""


def test_many_threads_meet_the_same_types_at_once():
    assert subprocess.run([sys.executable, "-c", MEETING], check=False).returncode == 0
