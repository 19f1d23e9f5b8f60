"""Scripts that record with torch, run in forks of a process that has imported all they need.

Importing torch.distributed.pipelining takes several seconds on a small machine, which is longer than most recordings.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

#: What such a process does: for each line of arguments it runs main() in a fork, and answers with what that wrote to
#: stderr if it failed, else with an empty text.
_RUNS = """
import importlib.util, json, os, sys, tempfile, traceback
spec = importlib.util.spec_from_file_location("script", sys.argv[1])
script = importlib.util.module_from_spec(spec)
sys.modules["script"] = script
spec.loader.exec_module(script)
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            failed = 1
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                sys.argv[1:] = json.loads(line)
                script.main()
                failed = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(failed)
        status = os.waitpid(child, 0)[1]
        output.seek(0)
        print(json.dumps(output.read() or f"status {status}" if status else ""), flush=True)
"""


def run_script(script: Path, *arguments: str) -> None:
    """Runs main() of a script with these arguments; its failure is an AssertionError with what it printed."""
    pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")
    process = _process_of(script)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(arguments) + "\n")
    process.stdin.flush()
    failed = json.loads(process.stdout.readline())
    assert not failed, failed


@cache
def _process_of(script: Path) -> subprocess.Popen[str]:
    """Starts one process for each script and worker of pytest. It ends when the worker ends, which closes its input."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RUNS, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process
