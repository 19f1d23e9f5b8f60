"""Launch shapes of kernels whose rows lack them or state them in other units.

    row of the kernel        row of the call                     what is made of it
    no shape                 grid [128,1,1], block [256,1,1]     the call's (ROCm)
    grid [256,1,1], block [32768,1,1]                            128 blocks of 256: AMD's dispatch packets hold the
                                                                 workgroup and all work-items
    grid [128,1,1], block [32768,1,1]                            128 blocks of 256
    grid [1,1,1], block [32768,1,1]                              unknown: no workgroup has so many

A block has at most 1,024 threads on every GPU. A block with more shows that the profiler wrote something else there,
and did so for every kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.table import Bool, Int64

#: Maximum number of threads of a block, on the GPUs of every maker.
MOST_THREADS = 1024


class Shapes(NamedTuple):
    """Launch shapes of n kernels. grid, block: (n, 3); shared_memory: n. -1 where not recorded."""

    grid: Int64
    block: Int64
    shared_memory: Int64


class Mended(NamedTuple):
    """Launch shapes in blocks.

    in_blocks       kernels whose grid was converted to blocks, whatever the unit of their call
    refused_count   number of impossible blocks that could not be interpreted
    """

    shapes: Shapes
    in_blocks: Bool
    refused_count: int


def mended(of: Shapes) -> Mended:
    """Convert shapes that a profiler wrote in work-items to shapes in blocks."""
    unchanged = Mended(of, np.zeros(len(of.grid), bool), 0)
    if not len(of.block) or of.block.max(axis=0).astype(np.float64).prod() <= MOST_THREADS:
        return unchanged
    rows = np.flatnonzero((of.grid > 0).all(axis=1) & (of.block > 0).all(axis=1))
    impossible = of.block.astype(np.float64).prod(axis=1) > MOST_THREADS
    if not impossible.any():
        return unchanged
    grid, block = of.grid.copy(), of.block.copy()
    items, other, odd = block[rows], grid[rows], impossible[rows]
    if odd.any() and _are_workgroups(items, other, odd):
        grid[rows], block[rows] = -(-items // other), other
        return Mended(of._replace(grid=grid, block=block), _mask(rows, len(grid)), 0)
    if odd.any() and _divide(items, other):
        block[rows] = items // other
        return Mended(of._replace(block=block), _mask(rows, len(grid)), 0)
    grid[impossible], block[impossible] = UNKNOWN, UNKNOWN
    return Mended(of._replace(grid=grid, block=block), unchanged.in_blocks, int(impossible.sum()))


def _mask(rows: Int64, count: int) -> Bool:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask


def _are_workgroups(items: Int64, grid: Int64, odd: Bool) -> bool:
    """Whether the recorded grid of each kernel is really a workgroup: no larger than a workgroup may be, nor than the
    kernel."""
    threads = grid.astype(np.float64).prod(axis=1)
    return bool((threads <= MOST_THREADS).all() and (grid <= items).all() and (threads[odd] > 1).all())


def _divide(items: Int64, grid: Int64) -> bool:
    """Whether the work-items divide evenly among the blocks of the grid, with no more per block than allowed."""
    return bool((items % grid == 0).all() and ((items // grid).prod(axis=1) <= MOST_THREADS).all())


def filled(of: Shapes, correlation: Int64, calls: Shapes, call_correlation: Int64) -> Shapes:
    """Where a kernel's row has no grid, take its call's; likewise for shared memory."""
    usable = (calls.grid > 0).all(axis=1) & (calls.block > 0).all(axis=1) & (call_correlation != UNKNOWN)
    usable &= calls.block.astype(np.float64).prod(axis=1) <= MOST_THREADS
    order = np.flatnonzero(usable)[np.argsort(call_correlation[usable], kind="stable")]
    if not len(order):
        return of
    place = np.minimum(np.searchsorted(call_correlation[order], correlation), len(order) - 1)
    call = np.where(call_correlation[order][place] == correlation, order[place], UNKNOWN)
    shape = (call != UNKNOWN) & (of.grid[:, 0] == UNKNOWN)
    memory = (call != UNKNOWN) & (of.shared_memory == UNKNOWN)
    result = Shapes(*(own.astype(np.result_type(own, other)) for own, other in zip(of, calls, strict=True)))
    result.grid[shape], result.block[shape] = calls.grid[call[shape]], calls.block[call[shape]]
    result.shared_memory[memory] = calls.shared_memory[call[memory]]
    return result
