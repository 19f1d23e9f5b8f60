"""How long kernels take in a steady step; drawn."""

from __future__ import annotations

from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.trace.table import Kind
from tests.drawn.real_traces import on_every_real_trace, read_real, real_path
from tests.drawn.timeline import timeline

US = 1_000


def test_an_interrupted_kernel_takes_as_long_as_its_twins():
    trace = timeline(
        f"""
        step     | {"1" * 100} |
        op       | a.a.a.a.{"." * 92} |
        runtime  | k.k.k.k.{"." * 92} |
        kernel 7 | .k.k.{"k" * 80}.k{"." * 13} |""",
        names={"a": "aten::mm"},
        inputs={"a": ("[[8,8],[8,8]]", '["float","float"]')},
        cell_ns=10 * US,
    )
    kernels = trace.events.rows(Kind.KERNEL)
    assert trace.events.dur_ns[kernels].tolist() == [10 * US, 10 * US, 800 * US, 10 * US]
    assert steady_activity_ns(trace, kernels).tolist() == [10 * US] * 4


def test_kernels_that_are_alike_keep_their_time():
    trace = timeline("step | 1111111111 |\nop | a.a....... |\nruntime | k.k....... |\nkernel 7 | .kk.kkk... |")
    kernels = trace.events.rows(Kind.KERNEL)
    assert steady_activity_ns(trace, kernels).tolist() == trace.events.dur_ns[kernels].tolist()


@on_every_real_trace
def test_no_activity_gets_longer_and_none_negative(path: str):
    trace = read_real(real_path(path))
    rows = trace.events.rows(Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    steady = steady_activity_ns(trace, rows)
    assert (steady >= 0).all() and (steady <= trace.events.dur_ns[rows]).all()
