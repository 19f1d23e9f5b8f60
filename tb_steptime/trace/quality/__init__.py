"""What is wrong with a recording: what cannot be true is mended in its columns, the rest is found before measuring."""

from __future__ import annotations

from tb_steptime.trace.quality.recording import recording_findings as recording_findings
from tb_steptime.trace.quality.repair import repaired as repaired
from tb_steptime.trace.quality.unrecorded_device import unseen_device as unseen_device
