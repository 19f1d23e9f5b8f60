"""Pauses of the program that the trace shows: Python's garbage collection, and the loading of code onto the device.

garbage collection   a Python frame "Python GC", of torch 2.9 and later when asked for (`record_python_gc_info` and
                     stacks); or the frame of a call of gc.collect()
loading              calls that load a module or a function of it; and rows of the profiler's overhead, which CUPTI
                     writes for what a first launch loads, on a track of their own and not on the host's thread
"""

from __future__ import annotations

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind

GARBAGE_COLLECTION = expression(r"Python GC$|<built-in (function|method) collect( of module object.*)?>$")
#: Loading is lazy since CUDA 11.8: a module is loaded at its first use, a kernel when its function is requested.
LOADING_CALL = expression(
    r"cu(Module(Load|GetFunction)|Library(Load|GetKernel|GetModule)|KernelGetFunction|Link(Create|Add|Complete))"
    r"|cudaLibrary(Load|GetKernel)|hip(Module|Library)(Load|Get(Function|Kernel))"
)
LOADING_OVERHEAD = expression(r"Lazy Function Loading$|Runtime Triggered Module Loading$")


def garbage_collections(trace: Trace) -> Int64:
    """Rows of the recorded garbage collections, in time order. A recorded one lies within the call for it."""
    return rows_named(trace, (Kind.PYTHON,), GARBAGE_COLLECTION.match)


def loading_calls(trace: Trace) -> Int64:
    """Rows of the calls that load code, in time order; a driver's call may lie in a runtime's."""
    return rows_named(trace, CALL_KINDS, LOADING_CALL.match)


def loading_overheads(trace: Trace) -> Int64:
    """Rows of the profiler's track for the loading of code, in time order."""
    return rows_named(trace, (Kind.OVERHEAD,), LOADING_OVERHEAD.match)
