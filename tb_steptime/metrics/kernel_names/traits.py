"""How a kernel works, if its name shows it: how it loads its operands, and whether its blocks take work from a list."""

from __future__ import annotations

from tb_steptime.text.patterns import expression

#: A kernel that loads only this many elements at once because its operands are not aligned: "align1", "align2".
MISALIGNED_KERNEL = expression(r"_?align(?:a|b|c)?([12])(?!\d)")
#: Number of elements that a kernel loads at once.
LOADED_AT_ONCE = expression(r"align[abc]?(\d+)")
#: Kernels of cuBLASLt that load by TMA, which requires aligned operands.
ALWAYS_ALIGNED = expression(r"^nvjet_")

#: Names of persistent kernels, whose blocks stay on the SMs until all work is done: cuBLASLt's nvjet, FlashAttention 3,
#: and those with the word in their name. Their blocks take work from a list, so that the shape of their grid does not
#: show a tail.
PERSISTENT = expression(r"^nvjet_|FlashAttn(?:Fwd|Bwd)\w*Sm90|[Pp]ersistent(?!_?softmax)")
