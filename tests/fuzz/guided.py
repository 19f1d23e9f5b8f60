"""python -m tests.fuzz.guided -max_total_time=600   # bytes that reach new code of the reader, as atheris finds them

What the other mutations cannot draw: text that is no JSON in ways that nobody thought of. It needs `pip install
atheris`, for which not every Python has a wheel, and is started by hand: coverage guides it, so no two runs are the
same. It takes libFuzzer's options, begins with the tiny files of the tests, and reads in Python alone, whose lines it
can see. A file of which neither figures nor a refusal in words come is left in this folder, as `crash-...`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["TB_STEPTIME_PURE"] = "1"  # before the reader is imported

import atheris

with atheris.instrument_imports(include=["tb_steptime.trace"]):
    from tb_steptime.trace.kineto import read_trace as read_trace

from tests import TRACES
from tests.fuzz.checks import finding

#: Longer inputs reach no other code, and are slower.
MOST_BYTES = 4_096


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        begins = Path(folder) / "seeds"
        begins.mkdir()
        for path in TRACES.iterdir():
            if path.stat().st_size <= MOST_BYTES:
                (begins / path.name).write_bytes(path.read_bytes())
        trace = Path(folder) / "host.1.pt.trace.json"
        atheris.Setup([*sys.argv, f"-max_len={MOST_BYTES}", str(begins)], lambda text: _try(trace, text))
        atheris.Fuzz()


def _try(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    cause = finding(path)
    if cause:
        raise AssertionError(cause)


if __name__ == "__main__":
    main()
