"""Simulated trainings without any jitter, whose replay is known exactly."""

from __future__ import annotations

from tests.truth.simulate import kernels
from tests.truth.simulate.causes import Activity, Loader, Op, Section, Training

MS = 1_000_000
NO_JITTER = {"host_jitter": 0.0, "device_jitter": 0.0}


def matmul(dur_ns: int) -> Op:
    activity = Activity("kernel", "ampere_sgemm_128x64_nn", dur_ns, (216, 1, 1), (128, 1, 1), 128, 32768)
    return Op(("aten::mm",), (kernels.launch(activity),), 10_000, ((64, 64), (64, 64)), ("c10::Half", "c10::Half"))


def section(count: int, dur_ns: int) -> Section:
    return Section((matmul(dur_ns),) * count)


def training(*sections: Section, loader: Loader | None = None) -> Training:
    return Training(
        "drawn up here", "a test.", loader or Loader(0, receive_ns=0), sections, seed=7, active=9, spans=1, **NO_JITTER
    )
