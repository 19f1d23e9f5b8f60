"""A span as the terminal shows it: verdict, where the mean step goes, GPU figures, what to do, what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.analyses.overview import DeviceFigures, OverviewResult
from tb_steptime.analyses.tensor_cores import DeviceSplit, TensorCoresResult
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan, SpanFacts
from tb_steptime.insights.base import Judgement
from tb_steptime.insights.cpu_verdict import op_name
from tb_steptime.insights.facts import WORTH_FRACTION
from tb_steptime.insights.rules.host.blocking_rows import PLACE_LENGTH, brief
from tb_steptime.insights.wording.card_text import as_one, card_head, lowered_words
from tb_steptime.insights.wording.notes import full_text, noted, notes_of_cards
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.idle.reasons import IDLE_MEANINGS
from tb_steptime.metrics.phases.sites import PHASE_LABELS
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.terminal.output import aligned, cut_off, paragraphs, row, share_row, wrapped
from tb_steptime.text import Note, Phrase
from tb_steptime.text.printer import (
    GAP,
    UNKNOWN,
    counted,
    duration,
    maybe,
    nbytes,
    number,
    percent_exact,
    plain,
    printable,
    render,
)
from tb_steptime.trace.steps import StepsBy
from tb_steptime.trace.table import median

#: Limits of the line width. Longer lines are hard to read, and the table of GPUs does not fit into shorter ones.
MAX_WIDTH, MIN_WIDTH = 100, 80
_SLOW_NAMES = 6
_BLOCKING_ROWS = 5
#: Minimum share of the largest row; smaller ones are left out.
_OF_LARGEST = 0.1
_OP_LENGTH = 56
#: Reasons for idle time below this share of the step get no line of their own.
LEAST_FRACTION = 0.001
#: Devices whose peak is smaller get no line: in a job on a GPU, values that the CPU reads take some bytes.
LEAST_PEAK_BYTES = 1_000_000
_STEP_WORDS: dict[StepsBy, str] = {"marks": "step", "inferred": "inferred step", "recording": "step"}


class Ink(msgspec.Struct, frozen=True):
    """How words are emphasized. Text in a pipe or a file is plain."""

    bold: Callable[[str], str] = str
    faint: Callable[[str], str] = str


PLAIN = Ink()
ANSI = Ink(lambda text: f"\033[1m{text}\033[0m", lambda text: f"\033[2m{text}\033[0m")


def span_table(span: FoundSpan, measured: MeasuredSpan, judgement: Judgement, width: int, ink: Ink = PLAIN) -> str:
    """Returns the full text about a span, without a trailing newline. width is clamped to a readable range."""
    width = max(MIN_WIDTH, min(width, MAX_WIDTH))
    overview = measured.result("overview", OverviewResult)
    loading = measured.result("data_loading", DataLoadingResult)
    host = measured.result("host", HostResult)
    sections = (
        [*_top(span, measured.facts, width, ink), *_job(judgement, ink), *_headline(judgement, width, ink)],
        _quality(judgement, width, ink),
        _parts(overview),
        _steady(overview, judgement, width),
        _loading(loading, overview.has_device),
        _idle(host),
        _cpu(host),
        _blocking(host),
        _gpus(overview.devices, measured.result("tensor_cores", TensorCoresResult).devices),
        _memory(measured.result("memory", MemoryResult)),
        _advice(judgement, [*measured.facts.notes, *loading.recorder_notes], width, ink),
    )
    return paragraphs(sections)


def _top(span: FoundSpan, facts: SpanFacts, width: int, ink: Ink) -> Iterator[str]:
    rank = "" if facts.rank is None or str(facts.rank) in span.worker else f" · rank {facts.rank}"
    name = printable(f"{span.run_name} · {span.worker}{rank} · span {span.number}")
    steps = counted(facts.step_count, _STEP_WORDS[facts.steps_by])
    size = f"{steps}, {counted(facts.events, 'event')}, {nbytes(facts.file_bytes)}"
    gap = width - len(name) - len(size)
    yield ink.bold(name) + (" " * gap if gap >= 2 else "\n") + ink.faint(size)


def _job(judgement: Judgement, ink: Ink) -> Iterator[str]:
    """Yields a line on the kind of job, or nothing where that is unknown."""
    line = render(judgement.job.line)
    if line:
        yield ink.faint(printable(line))


def _headline(judgement: Judgement, width: int, ink: Ink) -> Iterator[str]:
    headline = judgement.headlines["overview"]
    yield from wrapped(render(headline.verdict), width)
    if headline.action:
        yield from wrapped(_stressed(headline.action, ink), width)
    if headline.basis:
        yield from wrapped(render(headline.basis), width)


def _quality(judgement: Judgement, width: int, ink: Ink) -> Iterator[str]:
    """Yields what is wrong with the recording, one finding per paragraph, if there is any."""
    for line in judgement.quality:
        yield from wrapped(_stressed(as_one(line), ink), width, "  ")


def _stressed(phrase: Phrase, ink: Ink) -> str:
    """Emphasizes a phrase word by word, so that wrapping a line cannot break the escape codes of one emphasis."""
    return render(phrase, lambda words: " ".join(map(ink.bold, words.split(" "))))


def _parts(result: OverviewResult) -> Iterator[str]:
    """Yields the mean step, then its parts in the order that all charts use. A part without length is left out."""
    yield row("Mean step" if len(result.steps) > 1 else "Step", result.mean_duration_ns, _spread(result))
    yield from _slow(result)
    for part in PART_MEANINGS:
        length = getattr(result.mean_parts_ns, part.id)
        if length:
            yield share_row(f"  {part.label}", length, result.mean_duration_ns)


def _steady(result: OverviewResult, judgement: Judgement, width: int) -> Iterator[str]:
    """Yields the time of a step without excess, and a sentence for each kind of excess, if there is a notable one. What
    comes once is not said again where the headline or a card says it."""
    if judgement.excess and result.steady_step_ns is not None:
        several = len(result.steps) > 1
        means = "median of the steps without excess" if several else "the step without excess"
        yield row("Undisturbed step", result.steady_step_ns, means)
        said = judgement.notes_in_verdict | notes_of_cards(judgement.insights)
        for kind, sentence in judgement.excess.items():
            if kind not in said:
                yield from wrapped(render(sentence), width, "  ")


def _spread(result: OverviewResult) -> str:
    lengths = [row.duration_ns for row in result.steps]
    if len(lengths) < 2:
        return ""
    low, middle, high = (duration(value) for value in (min(lengths), median(lengths), max(lengths)))
    return f"from {low} to {high}, median {middle}"


def _slow(result: OverviewResult) -> Iterator[str]:
    names = [row.name for row in result.steps if row.slow]
    if names:
        more = f" and {len(names) - _SLOW_NAMES} more" if len(names) > _SLOW_NAMES else ""
        yield f"{'':31}slow: {', '.join(names[:_SLOW_NAMES])}{more}"


def _loading(loading: DataLoadingResult, has_device: bool) -> Iterator[str]:
    mean = loading.mean
    if mean is None:
        reason = plain(explain(loading.unknown)).rstrip(".") if loading.unknown else ""
        yield f"{'Waits for batches':<18}{UNKNOWN:>11}  {reason}".rstrip()
        return
    split = f"{duration(mean.exposed_ns)} exposed, {duration(mean.hidden_ns)} hidden behind the GPU's work"
    if not has_device:
        split = "all of it exposed: this trace has no GPU activity"
    yield row("Waits for batches", mean.wait_ns, split)


def _idle(host: HostResult) -> Iterator[str]:
    """Yields why the span's main device is idle. Reasons below a thousandth of the step are left out."""
    idle = host.main_idle
    if idle is None or not idle.total_ns:
        return
    yield share_row(
        "GPU idle" if len(host.devices) == 1 else f"GPU {host.device} idle", idle.total_ns, host.mean_step_ns
    )
    for reason in IDLE_MEANINGS:
        length = getattr(idle, reason.id)
        if length >= LEAST_FRACTION * host.mean_step_ns:
            yield share_row(f"  {reason.label}", length, host.mean_step_ns)


def _cpu(host: HostResult) -> Iterator[str]:
    """Yields the ops that take at least a hundredth of the step on the CPU, where no GPU activity is recorded."""
    ops = [each for each in host.cpu.ops if each.self_ns >= WORTH_FRACTION * host.cpu.step_ns] if host.cpu else []
    if host.cpu is None or not ops:
        return
    threads = counted(host.cpu.threads, "thread")
    yield row("CPU ops", host.cpu.busy_ns, f"a step, on {threads} (those of OpenMP are not recorded)")
    rows = [
        (f"  {cut_off(printable(op_name(each)), _OP_LENGTH)}", number(each.calls), duration(each.self_ns),
         percent_exact(each.self_ns / host.cpu.step_ns))
        for each in ops[:_BLOCKING_ROWS]
    ]  # fmt: skip
    yield from aligned([("  op", "calls", "own time", "of the step"), *rows])


def _blocking(host: HostResult) -> Iterator[str]:
    """Yields calls that make the host wait, where together they cost at least a hundredth of the step."""
    if not host.blocking or host.blocking_bubble_ns < WORTH_FRACTION * host.mean_step_ns:
        return
    most_ns = max(row.bubble_ns for row in host.blocking)
    longest = [each for each in host.blocking if each.bubble_ns >= _OF_LARGEST * most_ns][:_BLOCKING_ROWS]
    labels = PHASE_LABELS | {phase.phase: phase.label for phase in host.phases}
    yield row("Blocking calls", host.blocking_bubble_ns, "a step with the GPU idle")
    rows = [
        (f"  {printable(_maker(each))}", labels[each.phase].lower(), number(each.count), duration(each.blocked_ns),
         duration(each.bubble_ns))
        for each in longest
    ]  # fmt: skip
    yield from aligned([("  op", "phase", "calls", "blocked", "GPU idle"), *rows])


def _maker(row: BlockingRow) -> str:
    """Returns the op, or the call where there is no op, with the direction of a copy, and the line of code in which
    it is."""
    what, where = brief(row.op or row.call), row.forward_source or row.source
    if row.op == "aten::copy_" and row.direction:
        what += f" {row.direction}"
    return f"{what} in {brief(where, PLACE_LENGTH)}" if where else what


def _gpus(devices: Iterable[DeviceFigures], shares: Iterable[DeviceSplit]) -> Iterator[str]:
    splits = {split.device: split for split in shares}
    rows = [
        (
            f"{figures.device if figures.device >= 0 else UNKNOWN}  {cut_off(printable(figures.name), 28)}",
            maybe(percent_exact, figures.utilization),
            maybe(percent_exact, figures.est_sm_efficiency),
            maybe(percent_exact, figures.est_achieved_occupancy),
            _tensor_share(splits.get(figures.device)),
        )
        for figures in devices
    ]
    if rows:
        yield from aligned([("GPU", "utilization", "est. SM eff.", "est. occupancy", "tensor cores"), *rows])


def _memory(memory: MemoryResult) -> Iterator[str]:
    """Yields a line for each device whose memory was recorded with totals, since the peak is unknown without them, and
    of which a job uses more than some values that it reads."""
    labels = ("Peak memory", *[""] * len(memory.devices))
    devices = [each for each in memory.devices if each.whole and each.peak.allocated_bytes >= LEAST_PEAK_BYTES]
    for label, device in zip(labels, devices, strict=False):
        yield f"{label:<18}{nbytes(device.peak.allocated_bytes):>11}  {_more_of(device)}"


def _more_of(device: DeviceMemory) -> str:
    """Says whose memory it is, when it is most, and whether it grows."""
    parts = [printable(device.name)]
    if device.most_reserved_bytes is not None:
        parts.append(f"{nbytes(device.most_reserved_bytes)} reserved")
    if device.total_bytes:
        parts.append(f"of {nbytes(device.total_bytes)}")
    parts.append(f"in step {printable(device.peak.step)}" if device.peak.step else "outside of the steps")
    growth = device.growth
    if growth.every_step and growth.bytes_per_step:
        parts.append(f"grows by {nbytes(growth.bytes_per_step)} a step")
    return ", ".join(parts)


def _tensor_share(split: DeviceSplit | None) -> str:
    """Returns a share, or its two bounds where kernel names leave some time unclassified, or the unclassified share
    where that is most of the time."""
    if split is None or split.share_low is None or split.share_high is None:
        return UNKNOWN
    if split.unclassified is not None:
        return f"{percent_exact(split.unclassified)} unclassified"
    low, high = percent_exact(split.share_low), percent_exact(split.share_high)
    return low if low == high else f"{low.removesuffix(GAP + '%')}–{high}"


def _advice(judgement: Judgement, notes: Iterable[Note], width: int, ink: Ink) -> Iterator[str]:
    for insight in judgement.under_headline:
        severity, comma, rest = card_head(insight).partition(",")
        title = f"{ink.bold(severity)}{comma}{rest}: {_stressed(insight.title, ink)}."
        yield from wrapped(f"{title} {_stressed(insight.why, ink)}{lowered_words(insight)}", width, "  ")
        yield from (f"    {line}" for line in (insight.how or "").splitlines())
    said = judgement.notes_in_verdict | notes_of_cards(judgement.insights) | judgement.excess.keys()
    for note in noted([each for each in notes if each.id not in said]):  # a simulation says so first
        yield from wrapped(f"{ink.bold('Note')}: {render(full_text(note))}", width, "  ")
