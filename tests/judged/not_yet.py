"""What is known not to be right yet, with the point of the work that will mend it. Empty is what it should be.

Part: "verdict", "cards" that have to be there, or "extra" ones that nobody would sign.
"""

from __future__ import annotations

NOT_YET: dict[tuple[str, str], str] = {
    ("hta_v100_ns", "extra"): "1",  # slow_steps
    ("head_and_tail", "extra"): "1",  # input_bound
    ("once_first_product", "extra"): "11",  # long_stretches slow_steps
    ("side_stream_busy", "extra"): "1",  # slow_steps
    ("side_stream_unrecorded", "extra"): "2",  # slow_steps
    ("odd_length", "cards"): "5",  # alignment|eager_attention|slow_products alignment|slow_products eager_attention
    ("odd_vocabulary", "cards"): "5",  # alignment|slow_products
}
