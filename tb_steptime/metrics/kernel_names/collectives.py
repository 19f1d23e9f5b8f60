"""Recognises kernels and host calls that are collectives, by name. The launching op of a kernel is considered
elsewhere."""

from __future__ import annotations

import functools

from tb_steptime.text.patterns import expression

#: Libraries begin the names of all their kernels with their own name: NCCL, RCCL, MSCCL and MSCCL++, oneCCL, HCCL,
#: NVSHMEM. The others exchange through peer memory: PyTorch's symmetric memory, custom all-reduces of vLLM, SGLang,
#: TensorRT-LLM (also "lamport", after the clocks by which its ranks agree), FlashInfer and AITER, the exchanges between
#: experts of DeepEP (in DeepSeek's own builds dpsk::ep), pplx-kernels and TensorRT-LLM, and Transformer Engine's user
#: buffers, whose exchanges overlap with products. Not collectives: DeepEP's computation before it exchanges
#: (get_dispatch_layout), and filling a buffer (lamport_initialize).
COLLECTIVE_KERNEL = expression(
    r"^(?:void )?(?:nccl|rccl|msccl|oneccl|hccl|nvshmem)"
    r"|\bmultimem_(?:one_shot_)?all_(?:reduce|gather)"
    r"|\b(?:one|two)_shot_all_reduce"
    r"|\bcross_device_reduce_[12]stage"
    r"|\b(?:one|two)_?[Ss]hot_?[Aa]ll_?[Rr]educe"
    r"|\b(?:allReduce|allGather|reduceScatter|allToAll)(?:Norm|Fusion)?\w*Kernel"
    r"|\b\w*all_?reduce_(?:fusion_kernel|prototype|kernel)|\breduce_scatter_cross_device"
    r"|\blamport\w*_(?:all_?reduce|reduce|gather)|\b\w+_lamport\b"
    r"|\b(?:deep_ep|dpsk::ep)::(?:\w+::)*(?:cached_)?(?:notify|dispatch|combine|barrier)"
    r"|\bpplx::(?:\w+::)*\w*(?:[Dd]ispatch|[Cc]ombine)|\bmoe(?:AllToAll|A2A)\w*Kernel|\bmoe_comm::moe\w*Kernel"
    r"|\ball_?[tT]o_?[aA]ll_?[vV]\w*|\bk?userbuffers_\w+"
)

#: A backend marks its work "nccl:all_reduce"; PyTorch's own ops and its bookkeeping mark enclose it.
COLLECTIVE_CALL = expression(r"(?:nccl|rccl|gloo|mpi|ucc|xccl|hccl):|_?c10d(?:_functional)?::|record_param_comms")


@functools.lru_cache(maxsize=4096)
def is_collective(kernel: str) -> bool:
    """Does a kernel of this name exchange data between devices? Several measurements ask of each name."""
    return COLLECTIVE_KERNEL.search(kernel) is not None


def is_collective_call(name: str) -> bool:
    """Is a CPU op or a host-side range of this name a collective's?"""
    return COLLECTIVE_CALL.match(name) is not None
