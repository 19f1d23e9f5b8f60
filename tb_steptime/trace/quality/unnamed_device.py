"""A GPU that the file does not name, as in files of 2021 and re-exported ones: its kernels show how old it can be at
most.

volta_sgemm_128x64_nn                    libraries name a generation in kernels that are built for it, and run them on
ampere_fp16_s16816gemm_fp16_128x128      later ones as well: the latest of all names is the oldest that it can be
"""

from __future__ import annotations

import re

from tb_steptime.text import Finding, text
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind, distinct_in

#: Oldest first.
_GENERATIONS = {
    "Maxwell": r"\bmaxwell_|(?<![a-z0-9])sm5[0-9]_",
    "Pascal": r"\bpascal_|(?<![a-z0-9])sm6[0-9]_",
    "Volta": r"\bvolta_|(?<![a-z0-9])sm7[0-4]_",
    "Turing": r"\bturing_|(?<![a-z0-9])sm75_",
    "Ampere": r"\bampere_|(?<![a-z0-9])sm8[0-8]_",
    "Hopper": r"\bhopper_|(?<![a-z0-9])sm90_",
    "Blackwell": r"\bblackwell_|(?<![a-z0-9])sm1[0-2][0-9]_",
}


def unnamed_findings(trace: Trace) -> list[Finding]:
    """A finding if no device has a name, and kernels show how old the device can be."""
    if any(device.name for device in trace.devices.values()):
        return []
    kernels = trace.events.rows(Kind.KERNEL)
    names = [trace.strings[name] for name in distinct_in(trace.events.name[kernels]).tolist()]
    known = [name for name, pattern in _GENERATIONS.items() if _found(pattern, names)]
    if not known:
        return []
    return [Finding("device_unnamed", "said", (), values={"generation": text(known[-1])})]


def _found(pattern: str, names: list[str]) -> bool:
    compiled = re.compile(pattern)
    return any(compiled.search(name) for name in names)
