"""How well kernels of CUDA graphs get the labels of an eager recording: `python -m benchmarks.graph_labels`.

Prints, for each real trace that says which ops launched its kernels, the share of kernel time with the right op,
module, line and phase after its steps were captured in graphs: as they were, with a tenth of the kernels replaced, and
with a tenth of them fused.
"""

from __future__ import annotations

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.ops import kernel_origins
from tests.drawn.real_traces import real_path
from tests.truth.captured import LEAST_KERNELS, MOST_WITHOUT_OP, right_fraction


def main() -> None:
    print("| trace | as it was | 10 % of the kernels replaced | 10 % fused with the next |\n|---|---:|---:|---:|")
    folders = [real_path("traces"), real_path("traces_world")]
    for path in sorted(file for folder in folders for file in folder.glob("**/*.json.gz")):
        trace = read_trace(path)
        if len(trace.kernels) < LEAST_KERNELS or (kernel_origins(trace).op < 0).mean() > MOST_WITHOUT_OP:
            continue
        shares = [right_fraction(trace, changed) for changed in ("", "replaced", "fused")]
        if None not in shares:
            print(f"| {path.name} |", " | ".join(f"{share:.1%}" for share in shares), "|")


if __name__ == "__main__":
    main()
