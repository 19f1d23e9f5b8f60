"""Chains of elementwise kernels that a compiler or a fused norm would merge into one kernel."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.gpu.kernel_gains import kernel_card
from tb_steptime.insights.severity import WARNING_FRACTION
from tb_steptime.insights.wording.kernels import place_of
from tb_steptime.metrics.kernels.fusion import ChainKind, ChainsOfKind, FusibleChains
from tb_steptime.text import Phrase, count, filled, ns, phrase, text

_TITLES: dict[ChainKind, str] = {
    "rms_norm": "Use the fused RMSNorm",
    "layer_norm": "Use the fused LayerNorm",
    "rotary": "Fuse the rotary embedding",
    "elementwise": "Fuse chains of elementwise kernels",
}
#: A fused op helps the chains of its own kind only. From this share of the gain on, the card is about one kind; below
#: it about a compiler, which fuses chains of all kinds.
_MOST = 0.8

_COMPILE = "model = torch.compile(model)"
#: In inference, a batch norm needs no kernel of its own at all.
_FOLD = "\n# or without batch norm's kernels: torch.nn.utils.fusion.fuse_conv_bn_eval(convolution, norm)"
_HOW: dict[ChainKind, str] = {
    "rms_norm": "torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps)  # or torch.nn.RMSNorm",
    "layer_norm": "torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)",
    "rotary": "apply_rotary = torch.compile(apply_rotary)",
}

_KEPT = phrase("Which results must stay in memory is not known.")
_KEPT_FOR_BACKWARD = phrase("Which results must stay in memory, mainly for the backward pass, is not known.")


def fusible_chains(facts: Facts) -> Insight | None:
    """Fires when chains of kernels that only read and write memory cost a twentieth of the step more than one each.

    Similar pattern: kernels of an optimizer, of gradients' sums and of their exchange follow each other too, and are
    left out; so are kernels that a compiler generated, chains that a copy or another kernel interrupts, and what fused
    attention would replace.

    Needs: GPU kernels and the ops that launched them.

    Jobs: eager ones. Where a compiler generated kernels, what is left has a reason, and nothing is said.

    Gain: chain by chain, its time less that of its longest kernel, at most three quarters (est.); a card about one kind
    of chains counts those of that kind.

    Left out: results that the backward pass reads and that have to be written anyway; time to compile.
    """
    chains = facts.waste.chains if facts.waste else None
    if chains is None or chains.compiled or not chains.kinds:
        return None
    leading, kind, counted = chains.kinds[0], *_subject(chains)
    gain_ns = sum(each.gain_ns for each in counted)
    if facts.share(gain_ns) < WARNING_FRACTION:
        return None
    return kernel_card(
        facts,
        id="fusible_chains",
        title=phrase(_TITLES[kind]),
        why=_why(counted, leading),
        how=_how(facts, kind, leading),
        gain_ns=gain_ns,
        formula=phrase(
            "Chain by chain: time of its kernels less that of the longest, at most three quarters of it (est.): a "
            "fused kernel reads and writes at least what that one does."
        ),
        why_confidence=_KEPT if facts.job.purpose == "inference" else _KEPT_FOR_BACKWARD,
        view="gpu",
        site=leading.site,
        estimated=True,
    )


def _subject(chains: FusibleChains) -> tuple[ChainKind, list[ChainsOfKind]]:
    """Returns the kind that the title names, and the chains that the gain counts."""
    leading = chains.kinds[0]
    if leading.kind != "elementwise" and leading.gain_ns >= _MOST * chains.gain_ns:
        return leading.kind, [leading]
    return "elementwise", chains.kinds


def _how(facts: Facts, kind: ChainKind, leading: ChainsOfKind) -> str:
    if kind != "elementwise":
        return f"{_HOW[kind]}\n{_COMPILE}"
    folds = facts.job.purpose == "inference" and any("batch_norm" in op for op in leading.ops)
    return _COMPILE + _FOLD if folds else _COMPILE


def _why(counted: list[ChainsOfKind], leading: ChainsOfKind) -> Phrase:
    place = place_of(leading.site)
    values = {
        "count": count(round(sum(each.kernels for each in counted))),
        "time": ns(sum(each.total_ns for each in counted)),
        "ops": text(", ".join(op.removeprefix("aten::") for op in leading.ops)),
        "module": text(place or ""),
    }
    words = "{count} kernels of {time} a step only pass data on to the next one, mostly {ops}"
    return filled(words + (" in {module}." if place else "."), values)
