"""Which loaders a span waits for, told apart.

thread     [train][work.....][train][work.....]      one loader; backward passes follow its batches
           [a][b][work......][a][b][work......]      two, zipped: the second is asked with nothing between
           [train][work..][eval][f][eval][f][train]  no backward pass follows the batches of an evaluation
           [work][end][first]                        a mark without a batch ends an epoch; the next batch is its first
"""

from __future__ import annotations

import msgspec

from tb_steptime.phrases import Phrase


class LoaderRow(msgspec.Struct, frozen=True):
    """One loader of the span, as far as the trace tells them apart; ns are means per batch.

    role: "training" or "evaluation" where both kinds are in the span, else None. position: 1, 2, ... within loaders
    that are asked one right after the other (zipped), else None. batches: of the means, without the first ones of an
    epoch; first_batches, first_batch_ns: those, with the start of the workers in them, None where there is none.
    wait_ns = exposed_ns + hidden_ns.
    """

    label: Phrase
    iterator: str
    multiprocess: bool | None
    role: str | None
    position: int | None
    batches: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int
    first_batches: int
    first_batch_ns: int | None
