"""How a kernel works, where its name says so: how it loads its operands, and whether its blocks take work in turn."""

from __future__ import annotations

from tb_steptime.text.patterns import expression

#: A kernel that loads so few elements at once that its operands cannot be aligned: "align1", "align2".
MISALIGNED_KERNEL = expression(r"_?align(?:a|b|c)?([12])(?!\d)")
#: How many elements a kernel loads at once.
LOADED_AT_ONCE = expression(r"align[abc]?(\d+)")
#: Kernels of cuBLASLt that load by TMA, which exist for aligned operands only.
ALWAYS_ALIGNED = expression(r"^nvjet_")

#: Kernels that keep their blocks on the SMs until all work is done, by name: cuBLASLt's nvjet, FlashAttention 3, and
#: those that say so. Their blocks take work from a list, so that the shape of their grid says nothing of a tail.
PERSISTENT = expression(r"^nvjet_|FlashAttn(?:Fwd|Bwd)\w*Sm90|[Pp]ersistent(?!_?softmax)")
