"""What fills the peak by module, what checkpointing a class of modules saves and costs, and which settings are best."""

from __future__ import annotations

from tb_steptime.analyses.memory import device_fits
from tb_steptime.metrics.memory.curves import Place
from tb_steptime.metrics.memory.fit.checkpoints import NO_MODULES, Checkpoint, checkpoints
from tb_steptime.metrics.memory.fit.fit import PeakLine, peak_at
from tb_steptime.metrics.memory.fit.predictions import ModuleBytes, by_module
from tb_steptime.metrics.memory.fit.scaled import SMALL
from tb_steptime.metrics.memory.fit.states import NO_STATE
from tests.drawn.memory import CPU
from tests.drawn.module_training import DRAWN, NAMES, training

HOST = Place(*CPU)
NO_FRAMES = NAMES | {"M": "train.py(3): net", "B": "train.py(7): first", "C": "train.py(8): second"}


def test_the_peak_by_module_sums_to_it():
    """The peak at 16 us is 11 004 bytes, of which 1 000 are from before the recording."""
    rows = by_module(training(), HOST)
    assert rows == [
        ModuleBytes("Net › Block", "module", 0, 2400.0, 9600),
        ModuleBytes(None, "before", 1000, 0.0, 1000),
        ModuleBytes(None, "outside", 0, 100.0, 400),
        ModuleBytes("aten::sum", "op", 0, 1.0, 4),
    ]
    assert sum(row.bytes for row in rows) == 11_004


def test_without_modules_the_ops_own_names_stand_and_what_records_them_is_said():
    (fit,) = device_fits(training(NO_FRAMES))
    by_op = {row.path: row.bytes for row in fit.modules if row.kind == "op"}
    assert by_op == {"aten::relu": 6_400, "aten::add": 1_600, "ReluBackward0": 1_600, "aten::sum": 4}
    assert fit.unnamed == NO_MODULES
    assert [setting.label for setting in fit.settings] == ["As recorded", "Other optimizers, and FSDP", "All in BF16"]


def test_a_checkpoint_drops_what_was_saved_and_keeps_the_input():
    """At 16 us p and t are freed, and q is kept as the input of the second block: 11 004 - 4 800 + 1 600. The ReLUs of
    both blocks are recomputed, 3 us each; checkpointing the whole net recomputes all but its last sum and saves
    nothing. On top come 600 us for each checkpoint and 65 us for each ReLU, whose result its hooks save."""
    found = checkpoints(training(), HOST)
    assert isinstance(found, list)
    assert [
        (each.module, each.calls, peak_at(each.lines, 4), each.again_ns - each.own_ns, each.own_ns) for each in found
    ] == [
        ("Net", 1, 11_004, 9_000, 730_000),
        ("Block", 2, 7_804, 6_000, 1_330_000),
    ]
    assert isinstance(found[1], Checkpoint)
    assert found[1].lines == [PeakLine(1000, 1701.0, found[1].lines[0].row)]


def test_an_op_that_took_longer_than_one_of_its_shapes_does_so_once():
    """The first ReLU takes 1 us, the second 3 us: running both again takes 2 us. In the whole net the sums between and
    after them are 3 us each, and the second ReLU takes 1 us there, too; the last sum is not computed again."""
    found = checkpoints(training(drawn=DRAWN.replace("fff", "f..")), HOST)
    assert isinstance(found, list)
    assert [(each.module, each.again_ns - each.own_ns) for each in found] == [("Net", 5_000), ("Block", 2_000)]


def test_settings_are_best_where_no_other_one_needs_less_of_both():
    (fit,) = device_fits(training(), limit_bytes=16_000)
    assert [(each.label, each.peak_bytes, each.step_ns, each.largest, each.best) for each in fit.settings] == [
        ("As recorded", 11_004, 24_000, 5, True),
        ("Checkpoint every Block", 7_804, 1_360_000, 8, True),
        ("Other optimizers, and FSDP", None, None, None, False),
        ("All in BF16", None, None, None, False),
    ]
    assert [each.unknown for each in fit.settings] == [None, None, NO_STATE, SMALL]
    assert 'type(module).__name__ == "Block"' in (fit.settings[1].code or "")
