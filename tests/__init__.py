"""Tests, and what they draw their input with (`drawn`)."""

from pathlib import Path

#: The checkout.
PROJECT = Path(__file__).resolve().parents[1]

#: One tiny file per quirk of a producer.
TRACES = PROJECT / "tests" / "traces"
