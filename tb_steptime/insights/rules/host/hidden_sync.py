"""Blocking calls that the script does not show: an op of the backward pass or of the optimizer waits for the GPU."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.blocking_rows import bubble_ns, hidden, name_of, place_of
from tb_steptime.insights.rules.host.idle_cards import calls_card
from tb_steptime.insights.rules.host.waiting_ops import waiting_op
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.text import Phrase, ns, phrase, text

_TITLES = {
    "backward": phrase("Remove the hidden wait from the backward pass"),
    "optimizer": phrase("Remove the hidden wait from the optimizer"),
}


def hidden_sync_backward(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside autograd nodes and hooks are worth a card.

    Similar pattern: a wait of the autograd thread for another stream or rank: only calls that block the host count.

    Needs: CPU and GPU activity, with the launch calls.

    Jobs: training with a GPU.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: idle time before the call, and waits for the loader.
    """
    return _hidden_sync(facts, "backward")


def hidden_sync_optimizer(facts: Facts) -> Insight | None:
    """Fires when blocking calls inside an optimizer step are worth a card.

    Similar pattern: a gradient scaler that looks for infinities once a step is one of these waits, and wanted; its
    gain is what it costs.

    Needs: CPU and GPU activity, with the launch calls, and the range `Optimizer.step`.

    Jobs: training with a GPU.

    Gain: the GPU's idle time from the moment when it has no more work, or from the start of the call, to the next work
    that is launched after the call; mean over the steps.

    Left out: idle time before the call, and waits for the loader.
    """
    return _hidden_sync(facts, "optimizer")


def _hidden_sync(facts: Facts, where: str) -> Insight | None:
    rows = hidden(facts.host, where)
    if not rows:
        return None
    why, how = _why(rows[0], bubble_ns(rows)), waiting_op(rows[0]).how
    return calls_card(facts, f"hidden_sync_{where}", _TITLES[where], why, rows, how)


def _why(row: BlockingRow, total_ns: int) -> Phrase:
    """Returns the reason, with the op and the line, module or op of the forward pass that it belongs to."""
    place = place_of(row)
    if place is None:
        return phrase("{op} leaves the GPU idle for {total} a step.", op=text(name_of(row)), total=ns(total_ns))
    return phrase(
        "{op}, from {place}, leaves the GPU idle for {total} a step.",
        op=text(name_of(row)),
        place=text(place),
        total=ns(total_ns),
    )
