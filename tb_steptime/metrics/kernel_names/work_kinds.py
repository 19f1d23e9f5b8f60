"""What a kernel's name shows about its work: its kind (elementwise, a reduction, an update of an optimizer), how it
loads its operands, and whether its blocks take work from a list.

Names also show which kernels and host calls are collectives. The launching op of a kernel is considered elsewhere.
"""

from __future__ import annotations

import functools
import re

from tb_steptime.text.patterns import expression
from tb_steptime.trace.ops import BACKEND

#: A kernel that loads only one or two elements at once because its operands are not aligned: "align1", "align2".
MISALIGNED_KERNEL = expression(r"_?align(?:a|b|c)?([12])(?!\d)")
#: The number of elements that a kernel loads at once.
LOADED_AT_ONCE = expression(r"align[abc]?(\d+)")
#: Kernels of cuBLASLt that load by TMA, which requires aligned operands.
ALWAYS_ALIGNED = expression(r"^nvjet_")

#: Names of persistent kernels, whose blocks stay on the SMs until all work is done: cuBLASLt's nvjet, FlashAttention 3,
#: and those with the word in their names. Their blocks take work from a list, so the shape of their grid does not show
#: a tail.
PERSISTENT = expression(r"^nvjet_|FlashAttn(?:Fwd|Bwd)\w*Sm90|[Pp]ersistent(?!_?softmax)")


#: ATen's templates for work on each element, on elements to be summed, and for concatenation, on any chip.
ELEMENTWISE_KERNEL = expression(
    r"\b(?:un)?(?:vectorized_|unrolled_)?elementwise_kernel|\bfused_dropout_kernel|\bmasked_scale"
)
#: Batch norm by fixed statistics, which scales and shifts each element. The kernels of cuDNN and MIOpen are for
#: inference only; training also runs ATen's, after those that measure the statistics.
FIXED_NORM_KERNEL = expression(r"\bbn_fw_inf_|\bMIOpenBatchNormFwdInfer")
NORM_TRANSFORM_KERNEL = expression(r"\bbatch_norm_transform_input_(?:channels_last_)?kernel")
REDUCTION_KERNEL = expression(r"^(?:void )?at::native::(?:\(anonymous namespace\)::)?reduce_kernel")
CONCATENATION_KERNEL = expression(r"CatArrayBatchedCopy")
#: Softmax kernels of other libraries, which no op of torch launches, except those of classifiers and of experts'
#: routing.
SOFTMAX_KERNEL = expression(
    r"(?i)^(?!triton_|.*(?:log_?soft_?max|topk|gating|cross_?entropy|attention|flash)).*soft_?max"
)

#: Inductor's kernels for elementwise work and reductions, and those among them that contain a softmax.
GENERATED_KERNEL = expression(r"^triton_(?:poi|red|per|for)_")
GENERATED_SOFTMAX_KERNEL = expression(r"^triton_(?:red|per)_\w*(?<!log)_softmax")
#: All kernels that inductor generates: pointwise, reduction, persistent reduction, template, foreach, and C++ on the
#: CPU.
COMPILED_KERNEL = expression(r"triton_(poi|red|per|tem|for|spl|mm|bmm|conv)\w*_|triton__|(graph_\d+_)?cpp_fused_")

#: Kernels that occur only in training: gradients of ops, as of dropout (`masked_scale`) and of a convolution's weights,
#: and optimizers. cuDNN's `dgrad` is not included, because a transposed convolution runs it in the forward pass.
BACKWARD_KERNEL = expression(r"backward|_bwd|bwd_|wgrad|masked_scale|Adam|adam_|LARS|sgd_", re.ASCII)
#: Ops of which a model consists, one call per layer.
LAYER_OP = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|layer_norm)$")
#: The kernels of such ops, in traces without ops.
LAYER_KERNEL = expression(r"gemm|conv|attention|flash|mma|nvjet|Cijk_|fmha", re.IGNORECASE)

#: Kernels that process many tensors at once. Their optimizer is a foreach or fused one already.
MANY_TENSORS = "multi_tensor_apply"
#: Kernels among these that do a whole update at once, those of torch's `fused=True` and of Apex.
WHOLE_UPDATE_KERNEL = expression(rf"{MANY_TENSORS}.*(Fused\w+MathFunctor|\b(Adam|LAMB|SGD|Adagrad|NovoGrad)\w*Functor)")
#: Kernels with the same grid for work of any size: concatenations, those that process many tensors, and persistent
#: ones.
ANY_SIZE = expression(rf"{CONCATENATION_KERNEL.pattern}|{MANY_TENSORS}|{PERSISTENT.pattern}")
#: Kernels that do the whole update of the optimizer.
FUSED_OPTIMIZER_KERNEL = expression(rf"{MANY_TENSORS}.*Fused|fused_adam")
#: Kernels that sum the gradient of x[index], after a sort of the indices. Rows that occur often are added one after
#: another.
INDEXED_GRADIENT_KERNEL = expression(r"\bindexing_backward_kernel")
#: Attention in one kernel.
FUSED_ATTENTION_KERNEL = expression(r"(?i)flash|fmha|sdpa|attn_fwd|attention.*kernel")
#: Kernels that are small on purpose: persistent ones, those that only wait, and those of optimizers.
SMALL_BY_DESIGN = expression(rf"{PERSISTENT.pattern}|\bspin_kernel|{MANY_TENSORS}")
#: Reductions over the batch with one result for each channel, whose grid is the channels: statistics and gradients of
#: batch norm by ATen, cuDNN ("1C11": one for each C) and MIOpen, and gradients of the scale and shift of other norms. A
#: larger batch makes their blocks longer and adds none. Kernels that split the batch over blocks fill the GPU.
PER_CHANNEL_KERNEL = expression(
    r"\bbatch_norm_(?:collect_statistics|backward(?:_reduce)?)_kernel|\bbn_(?:fw_tr|bw)_1C11"
    r"|\bMIOpenBatchNorm(?:FwdTrain|Bwd)Spatial(?![A-Z])|\bGammaBetaBackward"
)

#: Stages of convolutions that pad or unfold images and keep their layout, such as `foldedNhwcToNhwcKernel`.
SAME_LAYOUT = expression(r"(?i)n(?P<layout>[chw]{3})to\w*?n(?P=layout)")

#: MIOpen's convolutions for inputs that none of its other kernels supports ("the last resort": ROCm/MIOpen#3310). In
#: its lists of measured times they take 85 to 350 times as long as the fastest other kernel (ROCm/MIOpen#3383,
#: rocm-libraries#3509).
NAIVE_CONVOLUTION = expression(r"^naive_conv_")

#: Kernels of convolutions with fewer operations: cuDNN's, MIOpen's (`miopenSp3AsmConv`: Winograd), and products of
#: complex numbers between Fourier transforms.
_FEWER = expression(r"winograd|miopenSp3AsmConv|fft|cgemm", re.IGNORECASE)


def needs_fewer(kernel: str) -> bool:
    """Returns whether the name of a kernel says that it needs fewer operations than the formula of a convolution
    counts.

    >>> needs_fewer("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(...)")
    True
    >>> needs_fewer("volta_sgemm_64x64_nn")
    False
    """
    return _FEWER.search(kernel) is not None


#: Kernels that exchange data between devices. Libraries begin the names of all their kernels with their own name: NCCL,
#: RCCL, MSCCL and MSCCL++, oneCCL, HCCL (its ops: hcom_), MCCL (mcclKernel_AllReduce_RING_SIMPLE_Sum), ECCL
#: (ecclKernel_AllReduce_MESH_DIRECT_SIMPLE_Sum) and NVSHMEM. MSCCL++'s examples, which SGLang uses, number their
#: all-reduces. The others exchange through peer memory: PyTorch's symmetric memory (its barriers and signals, too,
#: between copies by its copy engines), custom all-reduces of vLLM, SGLang, TensorRT-LLM (also "lamport", after the
#: clocks by which its ranks agree), FlashInfer and AITER, the exchanges between experts of DeepEP (in DeepSeek's own
#: builds dpsk::ep, in its hybrid branch hybrid_ep), AMD's MORI (EpDispatchIntraNodeKernel,
#: EpCombineInterNodeV1KernelLowLatency), pplx-kernels and TensorRT-LLM, and Transformer Engine's user buffers, whose
#: exchanges overlap with products. No collectives are DeepEP's computation before it exchanges (get_dispatch_layout),
#: MORI's copies to its own buffers (EpDispatchCopyToStaging, EpCombineSync) and its sums of what has arrived
#: (EpCombineAll), and filling a buffer (lamport_initialize).
COLLECTIVE_KERNEL = expression(
    r"^(?:void )?(?:nccl|rccl|msccl|oneccl|hccl|hcom_|mccl|eccl|nvshmem|allreduce(?:\d|_LL_[12]node)\b)"
    r"|\b(?:multimem_(?:one_shot_)?all_(?:reduce|gather)"
    r"|one_?[Ss]hot_?[Aa]ll_?[Rr]educe|two_?[Ss]hot_?[Aa]ll_?[Rr]educe|cross_device_reduce_[12]stage"
    r"|(?:allReduce|allGather|reduceScatter|allToAll)(?:Norm|Fusion)?\w*Kernel"
    r"|reduce_scatter_cross_device|lamport\w*_(?:all_?reduce|reduce|gather)"
    r"|deep_ep::(?:\w+::)*(?:cached_)?(?:notify|dispatch|combine|barrier)"
    r"|dpsk::ep::(?:\w+::)*(?:cached_)?(?:notify|dispatch|combine|barrier)"
    r"|hybrid_ep::(?:dispatch|combine|device_sync)_kernel"
    r"|Ep(?:Dispatch|Combine)(?:\w*Node\w*Kernel|SyncBarrier)"
    r"|pplx::(?:\w+::)*\w*(?:[Dd]ispatch|[Cc]ombine)|moe(?:AllToAll|A2A)\w*Kernel|moe_comm::moe\w*Kernel"
    r"|all_?[tT]o_?[aA]ll_?[vV]|k?userbuffers_\w)"
    r"|all_?reduce_(?:fusion_kernel|prototype|kernel)|\w_lamport\b"
    r"|\bsymmetric_memory::(?:\(anonymous namespace\)::)?(?:barrier|put_signal|wait_signal)_kernel"
)

#: The marks of backends, such as "nccl:all_reduce", and PyTorch's own ops and its bookkeeping mark, which enclose them.
COLLECTIVE_CALL = expression(rf"{BACKEND}:|_?c10d(?:_functional)?::|record_param_comms")


@functools.lru_cache(maxsize=4096)
def is_collective(kernel: str) -> bool:
    """Returns whether a kernel of this name exchanges data between devices. Several measurements test each name, so
    answers are cached."""
    return COLLECTIVE_KERNEL.search(kernel) is not None


def is_collective_call(name: str) -> bool:
    """Returns whether a CPU op or a host-side range of this name is a collective's."""
    return COLLECTIVE_CALL.match(name) is not None
