"""A transformer under torch.compile, and steps that are launched as CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.truth.simulate.causes import Activity, Call, Op, Section
from tests.truth.simulate.jobs.transformer import Transformer, fused_adamw, passes, to_device

REGION = "Torch-Compiled Region: 0/0"
GRAPH = "## Call CompiledFxGraph f2vbn3xq7kd4c5wrmzl6tj2p ##"


def compiled_step(net: Transformer) -> tuple[Section, ...]:
    """Kernels between products are Triton's, launched through the driver by generated code without ops."""
    made = passes(net)
    forward, backward = list(_generated(made.forward)), list(_generated(reversed(made.backward)))
    return (
        Section((to_device(8 * net.tokens),)),
        Section((Op(("TorchDynamo Cache Lookup",), (), 15_000),)),
        Section(tuple(forward), regions=(REGION, GRAPH), python_ns=1_000),
        Section(
            tuple(backward), regions=("CompiledFunctionBackward", GRAPH), backward=True, python_ns=1_000,
        ),
        fused_adamw(net.parameters),
    )  # fmt: skip


def _generated(ops: Iterable[Op]) -> Iterable[Op]:
    for number, op in enumerate(op for op in ops if op.calls):
        (call, *_) = op.calls
        assert call.activity
        if call.activity.tensor_core:
            yield replace(op, names=(op.names[-1],), host_ns=6_000, link=None)
        else:
            yield triton(f"triton_poi_fused_add_gelu_native_layer_norm_{number}", call.activity)


def triton(name: str, activity: Activity) -> Op:
    """A generated kernel under the range of its name."""
    kernel = replace(activity, name=name)
    return Op((name,), (Call("cuLaunchKernel", kernel, driver=True),), 3_000)


def graph_launch(activities: Iterable[Activity], nodes: bool, host_ns: int = 60_000) -> Op:
    """nodes False: the device works on them, and the trace shows only the launch."""
    first, *rest = (replace(activity, recorded=nodes) for activity in activities)
    return Op((), (Call("cudaGraphLaunch", first, host_ns=host_ns, nodes=tuple(rest)),), 4_000)


def activities_of(ops: Iterable[Op]) -> list[Activity]:
    """What ops launch, in order: the nodes of a graph of them."""
    return [call.activity for op in ops for call in op.calls if call.activity]


def graph_step(net: Transformer, nodes: bool) -> tuple[Section, ...]:
    """Forward and backward pass in one graph; the batch before it and the optimizer after it are launched eagerly."""
    made = passes(net)
    captured = activities_of([*made.forward, *reversed(made.backward)])
    return (
        Section((to_device(8 * net.tokens),)),
        Section((graph_launch(captured, nodes),)),
        fused_adamw(net.parameters),
    )
