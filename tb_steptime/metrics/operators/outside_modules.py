"""Launches and allocations of the steps outside any module, in the forward and the backward pass.

thread     |- Net_0 -|  |- loss -|             loss: outside
autograd                           |- Addmm- -|   of Net_0, whose op made it
                                    |- Accumulate -|   outside: no op of the forward pass made it
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.operators.module_calls import ModuleCalls, ModuleCost
from tb_steptime.metrics.operators.op_costs import labelled_work, measured_costs, outside_ops, own_costs
from tb_steptime.metrics.operators.op_memory import allocated_in_steps
from tb_steptime.metrics.operators.op_tree import op_tree
from tb_steptime.trace.model import Trace


class OutsideModules(msgspec.Struct, frozen=True):
    """What is launched and allocated outside of all modules. Together with what the modules launch and allocate,
    forward and backward, this is the total of the steps.

    device_ns         None where nothing ran on a device
    allocated_bytes   None where memory was not recorded
    """

    device_ns: int | None = None
    allocated_bytes: int | None = None


def outside_modules(trace: Trace, calls: ModuleCalls) -> OutsideModules:
    """The totals of the steps without those of the modules. calls: of all modules."""
    measured = measured_costs(trace)
    device_ns = allocated = None
    if "device" in measured:
        of_ops = own_costs(trace, op_tree(trace, "ran"), "device", "module")
        loose, labelled = (each(trace, "module").costs(trace, "device") for each in (outside_ops, labelled_work))
        device_ns = int(of_ops.sum() + loose.sum() + labelled.sum()) - _of_modules(calls, "device", "backward_device")
    if "allocated" in measured:
        allocated = allocated_in_steps(trace) - _of_modules(calls, "allocated", "backward_allocated")
    return OutsideModules(device_ns, allocated)


def _of_modules(calls: ModuleCalls, *costs: ModuleCost) -> int:
    columns = [calls.own[cost] for cost in costs]
    return sum(int(column.sum()) for column in columns if column is not None)
