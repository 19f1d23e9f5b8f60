"""How well one recording of a GPU predicts the memory at other batch sizes.

    python -m benchmarks.laboratory.on_gpu.fitting

It prints the ratio of predicted to measured peak at five other batch sizes; `memory.py` describes what was measured.
"""

from __future__ import annotations

import json
import sys

from benchmarks.laboratory.on_gpu.names import RECORDED
from tb_steptime.ingest.measure import read_file
from tb_steptime.metrics.memory.curves import CPU, memory_devices
from tb_steptime.metrics.memory.fit.fit import MARGIN, MemoryFit, memory_fit, peak_at

FOLDER = RECORDED / "memory"


def errors(name: str, batch: int, peaks: dict[int, int]) -> dict[int, float] | None:
    """By batch size, predicted peak / measured peak - 1. None if nothing is predicted."""
    trace = read_file(str(FOLDER / f"{name}.pt.trace.json.gz"))
    fits = [memory_fit(trace, place) for place in memory_devices(trace) if place.type != CPU]
    fit = fits[0] if fits else None
    if not isinstance(fit, MemoryFit) or fit.batch != batch:
        return None
    base = peaks[batch] - peak_at(fit.lines, batch)  # what the process held before the recording
    return {other: (peak_at(fit.lines, other) + base) / most - 1 for other, most in peaks.items() if other != batch}


def main() -> int:
    within = rows = 0
    for line in (FOLDER / "peaks.jsonl").read_text().splitlines():
        row = json.loads(line)
        found = errors(row["name"], row["batch"], {int(batch): most for batch, most in row["peaks"].items()})
        rows += 1
        within += found is not None and max(map(abs, found.values())) <= MARGIN
        text = " ".join(f"{each:+7.1%}" for each in found.values()) if found else "not predicted"
        print(f"{row['name']:32} {text}")
    print(f"{within} of {rows} within {MARGIN:.0%} at five other batches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
