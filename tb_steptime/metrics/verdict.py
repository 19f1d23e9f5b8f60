"""What holds a span or a phase up, told from its idle time by reason, with the thresholds that this rests on."""

from __future__ import annotations

import enum


class Bound(enum.Enum):
    """What would have to become faster first."""

    HOST = "host"
    GPU = "gpu"
    INPUT = "input"
    SYNC = "sync"
    DEPENDENCY = "dependency"
    COMMUNICATION = "communication"
    MIXED = "mixed"
    UNKNOWN = "unknown"
