"""`tb-steptime fit` prints the memory at other batch sizes as text and as JSON, and says what was not recorded."""

import json

import pytest

from tb_steptime import cli
from tb_steptime.analyses.memory import device_fits
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.memory.fit.scaled import SMALL
from tb_steptime.metrics.memory.fit.states import NO_STATE, NO_TIME
from tb_steptime.terminal.memory_report import NOT_RECORDED, SpanFit, fit_text
from tb_steptime.text.printer import plain
from tests.drawn.batched_training import training as with_memory
from tests.drawn.memory import GPU
from tests.drawn.module_training import training as with_modules
from tests.drawn.replayed import MS, section, training
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate


def text(**asked):
    return fit_text(SpanFit("run", "host_1", 1, "x.json", device_fits(with_memory(), **asked)), 300)


def test_the_largest_batch_and_the_peaks_as_text():
    margin = "The margin is 5\u00a0%: workspaces and fragmentation are not known."
    assert text(batches=[8], limit_bytes=2000).splitlines()[:7] == [
        "run · host_1 · span 1",
        "",
        f"CPU: the largest batch that fits in 2\u00a0kB is 14 (12 to 16), est. {margin}",
        "",
        "Batch        peak, est.   low  high",
        "4, recorded        1\u00a0kB  1\u00a0kB  1\u00a0kB",
        "8                  2\u00a0kB  2\u00a0kB  2\u00a0kB",
    ]


def test_what_fills_the_peak_and_the_settings_as_text():
    lines = fit_text(SpanFit("run", "host_1", 1, "x.json", device_fits(with_modules())), 200, code=True).splitlines()
    assert lines[10:] == [
        "Peak, allocated in    bytes  constant  per sample",
        "Net › Block           10\u00a0kB       0\u00a0B        2\u00a0kB",
        "before the recording   1\u00a0kB      1\u00a0kB         0\u00a0B",
        "outside of ops        400\u00a0B       0\u00a0B       100\u00a0B",
        "aten::sum               4\u00a0B       0\u00a0B         1\u00a0B",
        "",
        "Setting                     peak, est.  recompute  step, est.  largest batch  best",
        "As recorded                      11\u00a0kB          –       24\u00a0µs              –   yes",
        "Checkpoint every Block            8\u00a0kB     1.3\u00a0ms      1.4\u00a0ms              –   yes",
        "Other optimizers, and FSDP           –          –           –              –",
        "All in BF16                          –          –           –              –",
        *(plain(explain(why)) for why in (NO_STATE, NO_TIME, SMALL)),
        "",
        "Checkpoint every Block:",
        "",
        "    from functools import partial",
        "    from torch.utils.checkpoint import checkpoint",
        "",
        "    for module in model.modules():",
        '        if type(module).__name__ == "Block":',
        "            module.forward = partial(checkpoint, module.forward, use_reentrant=False)",
    ]


def test_what_the_allocator_had_reserved_besides_is_part_of_the_margin():
    trace = with_memory(device=GPU, reserved=2000)
    assert [each.unused_bytes for each in device_fits(trace)] == [2000 - 1416]
    output = fit_text(SpanFit("run", "host_1", 1, "x.json", device_fits(trace)), 300)
    assert "At the recorded peak, another 584\u00a0B were reserved and not used." in output


def test_no_limit_and_no_batch_that_fits():
    assert "the size of its memory is not recorded. With --memory 24GB the largest batch is estimated." in text()
    assert "no batch fits in" in text(limit_bytes=900)


@pytest.fixture
def trace(tmp_path):
    declared = training(section(20, 40_000), loader=Loader(5 * MS))
    (span,) = simulate(declared)
    path = tmp_path / "run" / "host_1.pt.trace.json.gz"
    path.parent.mkdir(parents=True)
    write(path, declared, span)
    return path


def test_without_recorded_memory(capsys, trace):
    assert cli.main(["fit", str(trace)]) == 0
    assert " ".join(capsys.readouterr().out.splitlines()).endswith(f"  {NOT_RECORDED}")
    assert cli.main(["fit", str(trace), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["margin"], report["errors"], [span["devices"] for span in report["spans"]]) == (0.05, [], [[]])


@pytest.mark.parametrize(("option", "value", "why"), [
    ("--memory", "2x", '"2x" is no size such as 24GB or 80GiB'),
    ("--memory", "24", '"24" is no size such as 24GB or 80GiB'), ("--batch", "0", '"0" is no number of samples'),
])  # fmt: skip
def test_what_is_asked_wrongly(capsys, trace, option, value, why):
    with pytest.raises(SystemExit):
        cli.main(["fit", str(trace), option, value])
    assert why in capsys.readouterr().err
