"""python -m tests.simulate demo_logs: write the simulated demo recordings, the same bytes each time."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.simulate.demo import write_demo

for path in write_demo(Path(sys.argv[1])):
    sys.stdout.write(f"{path}\n")
