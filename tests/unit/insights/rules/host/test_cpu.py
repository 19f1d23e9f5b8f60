"""Cards and verdicts of jobs that run on the CPU."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tb_steptime.analyses import ANALYSES
from tb_steptime.insights import judge
from tb_steptime.insights.base import Confidence, Insight, Judgement, Severity
from tb_steptime.insights.facts import Facts
from tb_steptime.insights.rules.host.cpu_outside import outside_ops_ns
from tb_steptime.text.printer import plain
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.model import Device, Job, Trace
from tests.drawn.memory import CPU, GPU, with_memory
from tests.drawn.timeline import A100, timeline

US, MS = 1_000, 1_000_000
_AUTOCAST = 'with torch.autocast("cpu", dtype=torch.bfloat16):  # pays off with AVX-512 BF16 or AMX'
NAMES = {"c": "aten::mkldnn_convolution", "b": "aten::convolution_backward", "m": "aten::addmm", "e": "aten::mul"}


def judged(trace: Trace) -> Judgement:
    return judge({analysis.id: analysis.analyse(trace) for analysis in ANALYSES})


def cards(judgement: Judgement) -> dict[str, Insight]:
    ours = ("cpu_", "python_")
    return {insight.id: insight for insight in judgement.insights if insight.id.startswith(ours)}


def of_ops(ops: str, **drawn: object) -> Judgement:
    steps = "".join(str(number) * len(ops) for number in range(4))
    return judged(timeline(f"step | {steps} |\nop | {ops * 4} |", names=NAMES, **drawn))


def test_the_verdict_names_the_op_that_takes_most():
    verdict = of_ops("ccccbbmmm.").verdict
    assert plain(verdict.text) == "The CPU computes for 90 % of a step of 10 µs, 40 % in aten::mkldnn_convolution."
    assert plain(verdict.why_confidence) == "Its ops are those of CPU libraries."


def test_python_that_computes_no_ops_is_named_with_its_line():
    frames = {"p": "metrics.py(9): count"}
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\npython | {'.......pp.' * 4} |\nop | {'ccccbbm...' * 4} |"
    found = judged(timeline(drawn, names=NAMES | frames, job=Job(with_stack=True)))
    (card,) = [insight for insight in found.insights if insight.id == "python_loop"]
    assert (card.gain_ns, card.how, card.steps) == (2_000, "# metrics.py:9", [])


@pytest.mark.parametrize(
    ("rollouts", "where"),
    [
        ({3}, ", mostly in step 3. Usual steps take 10 µs."),
        ({1, 5}, ", mostly in 2 of 8 steps. Usual steps take 10 µs."),
        ({0, 1, 4, 6}, ": Python code outside of ops, or waits."),  # half of the steps are no few
    ],
)
def test_the_verdict_says_where_few_steps_make_the_time_without_ops(rollouts: set[int], where: str):
    steps = ops = ""
    for number in range(8):
        python = 120 if number in rollouts else 0
        steps += str(number) * (10 + python)
        ops += "." * python + "ccccbbmmm."
    verdict = judged(timeline(f"step | {steps} |\nop | {ops} |", names=NAMES)).verdict
    assert plain(verdict.text).startswith("No op is recorded for ")
    assert plain(verdict.text).endswith(where)


def test_what_few_steps_call_may_be_needed_there():
    """A rollout of reinforcement learning calls the model without gradients, and Python more than that."""
    update, rollout = "ccccbbm...", "mpppppppp."
    steps = "".join(str(number) * 10 for number in range(5))
    frames = f"python | {('.' * 10 + '.' * 10 + 'r' * 9 + '.' + '.' * 20)} |"
    drawn = f"step | {steps} |\n{frames}\nop | {update * 2}{rollout.replace('p', '.')}{update * 2} |"
    names = NAMES | {"r": "agent.py(9): rollout"}
    card = cards(judged(timeline(drawn, names=names, job=Job(with_stack=True))))["python_loop"]
    assert plain(card.title) == "Speed up `rollout`, or run it less"
    assert plain(card.why).startswith("It runs in step 2 only")


@pytest.mark.parametrize(
    ("frame", "title", "how"),
    [
        ("metrics.py(9): <listcomp>", "Speed up `<listcomp>` in `report`, or run it less", "# metrics.py:9"),
        ("<built-in function collect>", "Speed up `collect`, or run it less", "# called in train.py, report"),
        (
            "<built-in method tensor of type object at 0x7f60>",
            "Speed up `tensor`, or run it less",
            "# called in train.py, report\n"
            "torch.from_numpy(np.stack(rows))  # in place of torch.tensor(rows), which converts each value by itself",
        ),
    ],
)
def test_what_has_no_place_or_name_of_its_own_is_told_by_its_caller(frame: str, title: str, how: str):
    steps = "".join(str(number) * 10 for number in range(4))
    python = f"python | {'rrrrrrrrr.' * 4} |\npython | {'.......pp.' * 4} |"
    names = NAMES | {"r": "train.py(3): report", "p": frame}
    trace = timeline(f"step | {steps} |\n{python}\nop | {'ccccbbm...' * 4} |", names=names, job=Job(with_stack=True))
    card = cards(judged(trace))["python_loop"]
    assert (plain(card.title), card.how) == (title, how)


def test_a_share_of_steps_without_the_profiler_is_promised_where_these_are_timed():
    frames = {"p": "metrics.py(9): count"}
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\npython | {'.......pp.' * 4} |\nop | {'ccccbbm...' * 4} |"
    trace = timeline(drawn, names=NAMES | frames, job=Job(with_stack=True))
    slowed = replace(trace, step_pace=StepPace(10_000, 20, 4_000, 20))
    assert cards(judged(slowed))["python_loop"].gain_ns == 800, "of 2,000 in 10,000, the same of 4,000"


@pytest.mark.parametrize(
    ("pace", "gain"),
    [
        (None, 6_000),  # of a step of 12 us
        (StepPace(10_000, 20, 9_000, 20, differ=False), 5_000),  # of 9 us, 4 of them in ops
        (StepPace(10_000, 20, 3_000, 20, differ=False), None),  # the ops alone take longer than that
    ],
)
def test_no_gain_is_more_than_a_step_without_its_ops(pace: StepPace | None, gain: int | None):
    steps = "".join(str(number) * 12 for number in range(4))
    drawn = f"step | {steps} |\npython | {'....pppppp..' * 4} |\nop | {'cccc........' * 4} |"
    trace = timeline(drawn, names=NAMES | {"p": "metrics.py(9): count"}, job=Job(with_stack=True))
    card = cards(judged(replace(trace, step_pace=pace))).get("python_loop")
    assert (card and card.gain_ns) == gain


def test_a_thread_that_runs_python_meanwhile_is_to_be_a_process():
    steps = "".join(str(number) * 12 for number in range(4))
    frames = f"python | {'m' * 48} |\npython @feeder | {'f' * 48} |\npython @feeder | r{'.' * 47} |"
    names = NAMES | {"m": "train.py(21): loop", "f": "data.py(5): make", "p": "metrics.py(9): count"}
    names |= {"r": "<built-in function len>"}  # something returns, so that the thread is known to run

    def card(calls: str) -> Insight:
        drawn = f"step | {steps} |\n{frames}\npython | {calls * 4} |\nop | {'cccc........' * 4} |"
        return cards(judged(timeline(drawn, names=names, job=Job(with_stack=True))))["python_loop"]

    held = card("....ppp.....")
    assert (plain(held.title), held.gain_ns) == ("Run `make` in a process of its own", 8_000)
    assert held.severity is Severity.MINOR, "which thread holds the interpreter is not recorded"
    assert plain(card("....ppppp...").title) == "Speed up `count`, or run it less", "it takes more than half as long"


def test_ops_of_one_kind_are_where_to_begin():
    card = cards(of_ops("ccbbbbmmm.", inputs={"b": ("[[1]]", '["float"]')}))["cpu_ops"]
    assert (plain(card.title), card.gain_ns, card.about_ns) == ("Speed up `aten::convolution_backward` first", 0, 6_000)
    assert plain(card.why) == (
        "Convolutions take 6 µs a step (60 %); aten::convolution_backward alone takes 4 µs, on FP32 inputs."
    )
    assert card.how is not None and "channels_last" in card.how


def test_convolutions_that_do_not_reach_onednn_are_told_so():
    names = NAMES | {"c": "aten::_slow_conv2d_forward"}
    steps = "".join(str(number) * 10 for number in range(4))
    card = cards(judged(timeline(f"step | {steps} |\nop | {'cccccmmm..' * 4} |", names=names)))["cpu_ops"]
    assert plain(card.why).endswith("aten::_slow_conv2d_forward alone takes 5 µs, without oneDNN.")
    assert settings(card) == ["record_shapes", "stack", "set_num_threads", "channels_last", "autocast"]


@pytest.mark.parametrize(
    ("inside", "again", "advised"),
    [
        ("ttmmmmmm..ammmmmm", True, False),  # one layer of two has inputs to cast
        ("..mmmmmm...mmmmmm", True, True),  # no cast: an overload of the op
        ("ttmmmmmm..ammmmmm", False, True),  # the model itself casts
    ],
)
def test_autocast_that_is_on_is_not_advised(inside: str, again: bool, advised: bool):
    names = {"t": "aten::to", "a": "aten::view", "m": "aten::linear" if again else "aten::addmm", "M": "aten::linear"}
    trace = timeline(
        f"""
        step | {"".join(str(number) * 20 for number in range(4))} |
        op   | {"MMMMMMMM..MMMMMMM..." * 4} |
        op   | {f"{inside:.<20}" * 4} |""",
        names=names,
    )
    card = cards(judged(trace)).get("cpu_ops")
    assert (card is not None and "autocast" in (card.how or "")) is advised


def settings(card: Insight) -> list[str]:
    """What the card's lines set, in order."""
    known = ("record_shapes", "stack", "set_num_threads", "channels_last", "autocast", "float()", "compile")
    lines = (card.how or "").splitlines()
    return [next(word for word in known if word in line.split("#")[0]) for line in lines]


@pytest.mark.parametrize(
    ("names", "inputs", "expected"),
    [
        ({}, {}, ["channels_last", "autocast"]),  # not known
        ({"f": "aten::conv2d"}, {}, ["channels_last", "autocast"]),
        ({"f": "aten::conv1d"}, {}, ["autocast"]),
        ({"f": "aten::conv_transpose3d"}, {}, ["autocast"]),
        ({"f": "aten::convolution"}, {"f": ("[[8,3,9,9],[4,3,3,3]]", "[]")}, ["channels_last", "autocast"]),
        ({"f": "aten::convolution"}, {"f": ("[[8,3,9],[4,3,3]]", "[]")}, ["autocast"]),
        ({"f": "aten::conv1d"}, {"f": ("[[8,3,1,9]]", "[]")}, ["autocast"]),
        (
            {"f": "aten::conv1d", "c": "aten::_slow_conv2d_forward"},
            {},
            ["record_shapes", "stack", "set_num_threads", "autocast"],
        ),
        (
            {"f": "aten::conv2d", "c": "aten::_slow_conv2d_forward"},
            {"c": ("[[8,3,9,9]]", '["float"]')},
            ["stack", "set_num_threads", "channels_last", "autocast"],
        ),
        ({"c": "aten::_slow_conv2d_forward"}, {"c": ("[[8,3,9,9]]", '["double"]')}, ["float()"]),
    ],
)
def test_only_settings_that_can_apply_to_the_inputs_of_convolutions_are_named(names, inputs, expected):
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nop | {'ffffffmm..' * 4} |\nop | {'cccccc....' * 4} |"
    card = cards(judged(timeline(drawn, names=NAMES | {"f": "net"} | names, inputs=inputs)))["cpu_ops"]
    assert settings(card) == expected


@pytest.mark.parametrize(
    ("ops", "inside", "expected"),
    [
        ("ddddccm...", "ar........", ["channels_last", "autocast"]),
        ("ddddccm...", "..........", ["channels_last", "autocast"]),  # not known
        ("ddddccm...", "r.........", ["autocast"]),
        ("ddpppppm..", "a.........", ["channels_last"]),
        ("ddpppppm..", "r.........", None),
    ],
)
def test_images_whose_channels_are_last_already_need_no_other_layout(ops: str, inside: str, expected: list[str] | None):
    """With the channels first, oneDNN's convolution describes its result by as_strided_."""
    steps = "".join(str(number) * 10 for number in range(4))
    names = {"d": "aten::mkldnn_convolution", "c": "aten::convolution_backward", "m": "aten::addmm"}
    names |= {"p": "aten::max_pool2d", "r": "aten::resize_", "a": "aten::as_strided_"}
    found = cards(judged(timeline(f"step | {steps} |\nop | {ops * 4} |\nop | {inside * 4} |", names=names)))
    assert (settings(found["cpu_ops"]) if "cpu_ops" in found else None) == expected


@pytest.mark.parametrize(
    ("ops", "how"),
    [
        ("mmeecccc..", "channels_last"),
        ("mmmmeecc..", "autocast"),
        ("mmceeaat..", "torch.compile"),
        ("mmceaaaa..", None),
        ("mmccee....", None),
    ],
)
def test_the_largest_kind_decides_from_three_tenths_of_the_step(ops, how):
    card = cards(of_ops(ops)).get("cpu_ops")
    assert (card is None) if how is None else (card is not None and card.how is not None and how in card.how)


@pytest.mark.parametrize(
    ("dtype", "inputs", "how"),
    [
        ("float", ", on FP32 inputs", 'with torch.autocast("cpu", dtype=torch.bfloat16):'),
        ("double", ", on FP64 inputs", "model = model.float()"),
    ],
)
def test_what_to_set_for_products_depends_on_their_type(dtype: str, inputs: str, how: str):
    card = cards(of_ops("mmmmmmmme.", inputs={"m": ("[[1]]", f'["{dtype}"]')}))["cpu_ops"]
    assert plain(card.why) == f"Matrix products take 8 µs a step (80 %); aten::addmm alone takes 8 µs{inputs}."
    assert card.how is not None and card.how.startswith(how)


@pytest.mark.parametrize(
    ("indexes", "fires"), [("aten::_index_put_impl_", True), ("aten::index", False), ("aten::select", False)]
)
def test_compiled_code_ends_where_a_size_depends_on_values(indexes: str, fires: bool):
    """`x[mask] = y` calls nonzero as well, but no size depends on it."""
    names = {"e": "aten::mul", "s": "aten::sub", "b": "aten::add", "w": indexes, "i": "aten::nonzero"}
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nop | {'esbwwesbww' * 4} |\nop | {'....i....i' * 4} |"
    assert ("cpu_ops" in cards(judged(timeline(drawn, names=names)))) is fires


@pytest.mark.parametrize(
    ("ops", "names", "inputs"),
    [
        ("mmmmmmmme.", {}, {"m": ("[[1]]", '["c10::BFloat16"]')}),  # 16 bits already
        ("ggggggsse.", {"g": "aten::index_select", "s": "aten::scatter_add_"}, {}),  # no compiler fuses them
        ("eeiseeise.", {"i": "aten::item", "s": "aten::select"}, {}),  # Python reads values all the time
        ("qqqqqqeee.", {"q": "quantized::linear_dynamic"}, {"q": ("[[1]]", '["float"]')}),  # 8 bits already
        ("nnnnnnnnm.", {"n": "aten::normal_"}, {}),  # input that is drawn at random
    ],
)
def test_without_a_setting_there_is_no_card(ops, names, inputs):
    steps = "".join(str(number) * len(ops) for number in range(4))
    trace = timeline(f"step | {steps} |\nop | {ops * 4} |", names=NAMES | names, inputs=inputs)
    assert cards(judged(trace)) == {}


def test_recurrent_layers_are_no_elementwise_ops():
    steps = "".join(str(number) * 10 for number in range(4))
    trace = timeline(f"step | {steps} |\nop | {'llllllmme.' * 4} |", names=NAMES | {"l": "aten::mkldnn_rnn_layer"})
    card = cards(judged(trace))["cpu_ops"]
    assert plain(card.why) == "Recurrent layers take 6 µs a step (60 %); aten::mkldnn_rnn_layer alone takes 6 µs."


def test_ops_of_a_gpu_job_are_not_to_speed_up():
    names = NAMES | {"c": "aten::cudnn_convolution"}
    assert cards(judged(timeline(f"step | {'0' * 10}{'1' * 10} |\nop | {'c' * 20} |", names=names))) == {}


@pytest.mark.parametrize(
    ("names", "cell_ms", "device", "gpu", "fires"),
    [
        ({}, 1, CPU, A100, True),
        ({}, 1, CPU, None, False),
        ({}, 1, GPU, A100, False),  # only the CPU of a job on the GPU was recorded
        ({"m": "aten::index_select"}, 1, CPU, A100, False),  # prepares data
        ({}, 0.2, CPU, A100, False),  # a small model
    ],
)
def test_a_gpu_that_the_recording_lists_is_to_be_used(
    names: dict[str, str], cell_ms: float, device: tuple[int, int], gpu: Device | None, fires: bool
):
    """Two products of 2 ms in each step of 10 ms."""
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = timeline(
        f"step | {steps} |\nop | {'mmemmeeeee' * 4} |",
        names=NAMES | names,
        devices={0: gpu} if gpu else None,
        cell_ns=round(cell_ms * 1_000_000),
    )
    found = {each.id: each for each in judged(with_memory(drawn, "a +4096 @1, a -4096 @2", device=device)).insights}
    assert ("idle_gpu" in found) is fires
    if fires:
        assert (found["idle_gpu"].severity, found["idle_gpu"].gain_ns) == (Severity.MINOR, 0)
        values = found["idle_gpu"].why.values
        assert (values["gpu"].value, values["op"].value, values["time"].value) == (A100.name, "aten::addmm", 4_000_000)


def test_a_gpu_that_is_not_recorded_is_to_be_and_the_ops_are_shown():
    """The headline tells a newcomer what to do, and the page below it still shows the ops."""
    names = NAMES | {"c": "aten::cudnn_convolution"}
    judgement = judged(timeline(f"step | {'0' * 10}{'1' * 10} |\nop | {'c' * 8}....{'c' * 8} |", names=names))
    action, largest = judgement.headlines["overview"].action, judgement.largest
    assert action is not None and largest is not None
    assert plain(action).startswith("Record the GPU, too: ")
    assert [piece.name for piece in largest.pieces] == ["aten::cudnn_convolution"]


def test_ops_of_many_names_are_compiled_and_not_named():
    card = cards(of_ops("mmceeaat.."))["cpu_ops"]
    assert plain(card.title) == "Try `torch.compile` on the model"
    assert plain(card.why) == "Elementwise and other ops take 5 µs a step (50 %); aten::mul alone takes 2 µs."


def test_a_single_op_is_not_compiled():
    """Evaluation that takes the class of each row: argmax alone has nothing to be fused with."""
    assert cards(of_ops("mmaaaaae..")) == {}
    assert "cpu_ops" not in cards(of_ops("mmaaaee...")), "three of five"
    assert "cpu_ops" in cards(of_ops("mmaaaeet..")), "half of them"


def test_pooling_has_a_layout_that_is_faster_and_no_type():
    card = cards(judged(timeline("step | 0000011111 |\nop | pppm.pppm. |", names=NAMES | {"p": "aten::max_pool2d"})))
    assert card["cpu_ops"].how == _LAYOUT


_SET = "model = model.to(memory_format=torch.channels_last)  # the inputs too"
_LAYOUT = _SET + "; unless this is set already"  # no convolution shows the layout


@pytest.mark.parametrize(
    ("function", "shapes", "how"),
    [
        ("aten::max_pool2d", None, _LAYOUT),
        ("aten::max_pool1d", None, None),
        ("aten::avg_pool1d", "[[16,8,1,512],[],[]]", None),
        ("aten::mul", None, _SET + ", where they have 4 dimensions; unless this is set already"),
        ("aten::mul", "[[16,8,32,16],[],[]]", _LAYOUT),
        ("aten::mul", "[[16,8,1,512],[],[]]", None),
        ("aten::mul", "[[8,1,512],[],[]]", None),
    ],
)
def test_pooling_along_one_dimension_has_no_layout_of_images(function: str, shapes: str | None, how: str | None):
    """Functions for one dimension call the op for images, too."""
    names = NAMES | {"f": function, "p": "aten::max_pool2d_with_indices", "q": "aten::max_pool2d_with_indices_backward"}
    inputs = dict.fromkeys("pq", (shapes, "[]")) if shapes else None
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nop | {'ffff......' * 4} |\nop | {'pppp.qqm..' * 4} |"
    found = cards(judged(timeline(drawn, names=names, inputs=inputs)))
    assert (found["cpu_ops"].how if "cpu_ops" in found else None) == how


@pytest.mark.parametrize(
    ("ops", "how"),
    [
        ("ggggmmmm..", None),  # nothing can be set for what takes most, and 16 bits may take longer
        ("ggggcccc..", _SET + ", where they have 4 dimensions"),
        ("gggmmmm...", ""),
    ],
)
def test_16_bits_alone_are_no_reason_to_pass_over_what_takes_more(ops: str, how: str | None):
    steps = "".join(str(number) * 10 for number in range(4))
    trace = timeline(f"step | {steps} |\nop | {ops * 4} |", names=NAMES | {"g": "aten::gather"})
    found = cards(judged(trace))
    lines = (found["cpu_ops"].how or "").splitlines() if "cpu_ops" in found else [None]
    expected = [None] if how is None else [*([how] if how else []), _AUTOCAST]
    assert lines == expected


@pytest.mark.parametrize(("dtype", "advised"), [("c10::BFloat16", False), ("float", True)])
def test_16_bits_are_not_advised_to_a_cpu_that_computes_them_slowly(dtype: str, advised: bool):
    inputs = {"h": (_MM, f'["{dtype}","{dtype}"]'), "c": (_IMAGES, '["float","float"]')}
    steps = "".join(str(number) * 10 for number in range(4))
    names = NAMES | {"h": "aten::mm"}
    trace = timeline(f"step | {steps} |\nop | {'cccccchh..' * 4} |", names=names, inputs=inputs, cell_ns=30 * MS)
    found = {each.id: each for each in judged(trace).insights}
    assert (_AUTOCAST in (found["cpu_ops"].how or ""), "slow_half" in found) == (advised, not advised)


def test_of_kinds_without_a_setting_the_next_one_counts():
    """One op takes most of the step, and no setting is for it."""
    card = cards(of_ops("eeeeeccc.."))["cpu_ops"]
    assert (plain(card.title), card.about_ns) == ("Speed up `aten::mkldnn_convolution`", 3_000)
    assert "cpu_ops" not in cards(of_ops("eeeeecc..."))


@pytest.mark.parametrize(
    ("ops", "fires"),
    [
        ("eqr" * 34, True),
        ("eqr" * 33, False),  # 99 ops
        ("e.q.r." * 34, True),  # as much Python between them
        ("eqr" * 34 + "." * 1200, False),  # a wait, or a slow function
        ("eqr" * 34 + "q" * 500, False),  # a large op among them
        ("eqr" * 34 + "." * 500, False),  # one wait of less than 5 us for each op
        (("eqr" + "." * 20) * 34, True),  # Python that calls the next op
        (("eqr" + "." * 21) * 34, False),  # Python that does something of its own
        ("e.b.v." * 100, False),  # to be compiled
        ("e.r" * 51 + "qqqqqq." * 25, True),  # ops of 6 us take 150 of 328 us
        ("e.r" * 51 + "qqqqqq." * 40, False),  # 240 of 433 us
    ],
)
def test_many_small_ops_are_to_be_fewer(ops: str, fires: bool):
    names = NAMES | {"q": "aten::gather", "r": "aten::item", "b": "aten::add", "v": "aten::sub"}
    steps = "".join(str(number) * len(ops) for number in range(4))
    found = judged(timeline(f"step | {steps} |\nop | {ops * 4} |", names=names)).insights
    assert ("small_ops" in [each.id for each in found]) is fires


@pytest.mark.parametrize(
    ("ops", "update", "fires"),
    [
        ("eqr" * 50, "", True),
        ("eqr" * 50, "eqr" * 50, True),
        ("eqr" * 50, "e..q..r..." * 20, False),  # 200 of 350 us in and between its ops
        ("eqr" * 33, "eqr" * 33, False),  # 99 ops of the model
    ],
)
def test_small_ops_of_an_optimizer_are_not_the_models(ops: str, update: str, fires: bool):
    names = NAMES | {"q": "aten::gather", "r": "aten::item", "u": "Optimizer.step#SGD.step"}
    steps = "".join(str(number) * len(ops + update) for number in range(4))
    marks = f"user Optimizer.step#SGD.step | {('.' * len(ops) + 'u' * len(update)) * 4} |\n" if update else ""
    trace = timeline(f"step | {steps} |\n{marks}op | {(ops + update) * 4} |", names=names)
    assert ("small_ops" in [each.id for each in judged(trace).insights]) is fires


@pytest.mark.parametrize(("length", "fires"), [(230, True), (245, False)])
def test_small_ops_take_a_part_of_the_recorded_step_too(length: int, fires: bool):
    """One of 102 ops of 1 us is interrupted in each step, each time another one. They take 31 and 29 % of the step."""
    names = NAMES | {"q": "aten::gather", "r": "aten::item"}
    steps = ["eqr" * place + "e" * length + "qr" + "eqr" * (33 - place) for place in (3, 9, 15, 21)]
    marks = "".join(str(number) * len(ops) for number, ops in enumerate(steps))
    found = judged(timeline(f"step | {marks} |\nop | {''.join(steps)} |", names=names)).insights
    assert ("small_ops" in [each.id for each in found]) is fires


@pytest.mark.parametrize(("calls", "advised"), [(4_998, False), (5_001, True)])
def test_a_loop_is_seen_by_thousands_of_ops(calls: int, advised: bool):
    names = NAMES | {"q": "aten::gather", "r": "aten::item"}
    ops = "eqr" * (calls // 3)
    found = judged(timeline(f"step | {'0' * calls}{'1' * calls} |\nop | {ops * 2} |", names=names)).insights
    (card,) = [each for each in found if each.id == "small_ops"]
    assert ("torch.vmap" in (card.how or "")) is advised


@pytest.mark.parametrize(("inside", "outside", "advised"), [(30, 20, True), (15, 35, False)])
def test_the_time_steps_of_a_recurrent_layer_are_no_loop_in_python(inside: int, outside: int, advised: bool):
    """The layer calls two ops for each of them. Outside it, every second op reads a value, which ends compiled code."""
    names = NAMES | {"l": "aten::gru", "s": "aten::sigmoid_", "t": "aten::tanh_", "q": "aten::add", "r": "aten::item"}
    layer = "l" * 2 * inside + "." * 2 * outside
    rows = {"step": "0" * 100 + "1" * 100, "op": layer * 2, "op ": ("st" * inside + "qr" * outside) * 2}
    trace = timeline("\n".join(f"{row.strip()} | {cells} |" for row, cells in rows.items()), names=names)
    (card,) = [each for each in judged(trace).insights if each.id == "small_ops"]
    assert ("nn.LSTM" in (card.how or "")) is advised


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (("p" * 3 + "." * 3) * 50, True),
        (("p" + "." * 5) * 50, False),  # a sixth of the step
        (("p" * 15 + "." * 15) * 10, True),
        (("p" * 15 + "." * 15) * 9 + "." * 30, False),  # nine calls a step
    ],
)
def test_the_function_that_calls_small_ops_again_and_again_is_named(function: str, named: bool):
    names = NAMES | {"q": "aten::gather", "r": "aten::item", "p": "boxes.py(9): overlap"}
    rows = {"step": "".join(str(number) * 300 for number in range(4)), "op": "eqr" * 400, "python": function * 4}
    trace = timeline("\n".join(f"{row} | {cells} |" for row, cells in rows.items()), names=names)
    (card,) = [each for each in judged(trace).insights if each.id == "small_ops"]
    assert ("boxes.py:9 overlap" in (card.how or "")) is named


@pytest.mark.parametrize(("function", "fires"), [("p", False), (".", True)])
def test_a_function_that_takes_most_is_told_in_place_of_small_ops(function: str, fires: bool):
    """It runs for 2 us between two ops of 1 us each, 80 times a step."""
    names = NAMES | {"q": "aten::gather", "r": "aten::item", "p": "metrics.py(9): count"}
    steps = "".join(str(number) * 320 for number in range(4))
    python = f"python | {f'.{function * 2}.' * 320} |"
    trace = timeline(f"step | {steps} |\n{python}\nop | {'q..r' * 320} |", names=names, job=Job(with_stack=True))
    assert ("small_ops" in [each.id for each in judged(trace).insights]) is fires


@pytest.mark.parametrize(("pairs", "expected"), [(2400, "cpu_ops"), (2600, "small_ops")])
def test_a_loop_of_thousands_of_small_ops_is_not_to_be_compiled(pairs: int, expected: str):
    """4,800 and 5,200 ops a step of 1 us each."""
    steps = "".join(str(number) * pairs * 4 for number in range(2))
    names = {"e": "aten::mul", "f": "aten::exp"}
    found = judged(timeline(f"step | {steps} |\nop | {'e.f.' * pairs * 2} |", names=names)).insights
    assert [each.id for each in found if each.id in ("cpu_ops", "small_ops")] == [expected]


_IMAGES = "[[8,3,64,64],[16,3,3,3]]"
_MM, _SMALL = "[[256,512],[512,512]]", "[[16,64],[64,64]]"  # 134 and 0.1 MFLOP
_ONE_ROW = "[[1,8192],[8192,8192]]"  # 134 MFLOP, and as many bytes of weights


@pytest.mark.parametrize(
    ("ops", "shapes", "dtype", "cell_ns", "gain_ns"),
    [
        ("hhhhhhee..", _MM, "c10::BFloat16", 10 * MS, 60 * MS - 134_217_728 / 8),
        ("hhhhhhee..", _MM, "c10::Half", 10 * MS, 60 * MS - 134_217_728 / 8),
        ("hhhhss....", _MM, "c10::BFloat16", 10 * MS, 40 * MS - 20 * MS),  # at half the rate of FP32
        ("hhhss.....", _MM, "c10::BFloat16", 10 * MS, None),  # at more: a slow CPU, or a loaded one
        ("hhhhhhhe..", _MM, "c10::BFloat16", MS, (7 - 7 / 3) * MS),  # 19 GFLOP/s
        ("hhhhhhee..", _MM, "c10::BFloat16", MS, None),  # 22 GFLOP/s
        ("hhhhhhs...", _MM, "c10::BFloat16", MS, 6 * MS - MS),  # a sixth of the rate of FP32
        ("hhhhhs....", _MM, "c10::BFloat16", 20 * US, 100 * US - 20 * US),
        ("hhhhhs....", _MM, "c10::BFloat16", 19 * US, None),  # calling it may take the time
        ("hhhhhhee..", _MM, "float", 10 * MS, None),
        ("hhhhhhee..", _SMALL, "c10::BFloat16", 10 * MS, None),
        ("hhhhhhee..", _ONE_ROW, "c10::BFloat16", 10 * MS, None),
        ("heeee.", _MM, "c10::BFloat16", 60 * MS, 60 * MS - 134_217_728 / 8),
        ("heeeeeee..", _MM, "c10::BFloat16", 60 * MS, None),  # 7 % of the step
    ],
)
def test_products_of_16_bits_without_instructions_are_to_have_32(ops, shapes, dtype, cell_ns, gain_ns):
    inputs = {"h": (shapes, f'["{dtype}","{dtype}"]'), "s": (_MM, '["float","float"]')}
    steps = "".join(str(number) * len(ops) for number in range(4))
    drawn = f"step | {steps} |\nop | {ops * 4} |"
    names = NAMES | {"h": "aten::mm", "s": "aten::mm"}
    found = judged(timeline(drawn, names=names, inputs=inputs, cell_ns=cell_ns)).insights
    assert [each.gain_ns for each in found if each.id == "slow_half"] == ([round(gain_ns)] if gain_ns else [])


def test_gradients_of_gradients_are_not_compiled():
    steps = "".join(str(number) * 10 for number in range(4))
    for node, fires in (("TanhBackward0", True), ("TanhBackwardBackward0", False)):
        trace = timeline(f"step | {steps} |\nop | {'mmeeaadd..' * 4} |", names=NAMES | {"d": node, "a": "aten::tanh"})
        assert ("cpu_ops" in cards(judged(trace))) is fires


@pytest.mark.parametrize(("dtype", "fires"), [("float", True), ("c10::complex<float>", False)])
def test_ops_on_complex_numbers_are_not_compiled(dtype: str, fires: bool):
    steps = "".join(str(number) * 10 for number in range(4))
    inputs = dict.fromkeys("eat", ("[[8]]", f'["{dtype}"]'))
    names = NAMES | {"a": "aten::tanh", "t": "aten::sigmoid"}
    trace = timeline(f"step | {steps} |\nop | {'mmeeaatt..' * 4} |", names=names, inputs=inputs)
    assert ("cpu_ops" in cards(judged(trace))) is fires


@pytest.mark.parametrize(("layer", "fires"), [("llllll..", False), ("ll......", True)])
def test_ops_of_recurrent_layers_are_not_compiled(layer: str, fires: bool):
    names = NAMES | {"l": "aten::gru", "s": "aten::sigmoid_", "t": "aten::tanh_"}
    steps = "".join(str(number) * 8 for number in range(4))
    trace = timeline(f"step | {steps} |\nop | {layer * 4} |\nop | {'steste..' * 4} |", names=names)
    assert ("cpu_ops" in cards(judged(trace))) is fires


def test_one_interruption_names_no_op():
    """A call that loses its core for a while is not where to begin, and is not said to take most, as its mean does."""
    ops = ["mmet......", "mmet......", "mme" + "t" * 34 + "......", "mmet......"]
    marks = "".join(str(step) * len(each) for step, each in enumerate(ops))
    judgement = judged(timeline(f"step | {marks} |\nop | {''.join(ops)} |", names=NAMES))
    assert "usually 11 % in aten::addmm." in plain(judgement.verdict.text)
    assert "cpu_ops" not in cards(judgement)


def test_an_op_is_not_said_to_take_more_than_its_mean():
    """In one step a call is quicker than in the others: the table beside the sentence has the mean."""
    ops = ["mmmmccee..", "mmmmccee..", "mmccee....", "mmmmccee.."]
    marks = "".join(str(step) * len(each) for step, each in enumerate(ops))
    judgement = judged(timeline(f"step | {marks} |\nop | {''.join(ops)} |", names=NAMES))
    assert plain(judgement.verdict.text).endswith(", 35 % in aten::addmm.")


def test_the_verdict_and_the_card_count_the_usual_share_of_a_step():
    """Without the interruption products take 4 us of a step of 9.5 us, 1.5 of them outside of ops."""
    ops = ["mmmmccee..", "mmmmccee..", "mmmmmmccee", "mmmmccee.."]
    marks = "".join(str(step) * len(each) for step, each in enumerate(ops))
    judgement = judged(timeline(f"step | {marks} |\nop | {''.join(ops)} |", names=NAMES))
    assert plain(judgement.verdict.text).endswith(", usually 42 % in aten::addmm.")
    assert plain(cards(judgement)["cpu_ops"].why) == (
        "Matrix products usually take 4 µs a step (42 %); aten::addmm alone takes 4 µs."
    )


def compiling_in(*steps: int) -> Judgement:
    ops = "".join("ddddddmm.." if step in steps else "mmmmmmmm.." for step in range(6))
    marks = "".join(str(step) * 10 for step in range(6))
    names = NAMES | {"d": "compile_fx_inner (dynamo_timed)"}
    return judged(timeline(f"step | {marks} |\nop | {ops} |", names=names))


def test_compiling_again_and_again_is_the_headline():
    judgement = compiling_in(1, 3, 5)
    card = cards(judgement)["cpu_compiles"]
    assert plain(judgement.verdict.text) == "torch.compile is at work for 30 % of a step of 10 µs."
    assert (card.gain_ns, card.severity) == (3_000, Severity.MAJOR)
    assert plain(card.why) == (
        "torch.compile is at work for 3 µs a step (30 %), in later steps too: shapes, types or values change."
    )


def test_a_single_step_that_compiles_is_named():
    """It takes 90 us, of which it compiles for 80 us; the five others take 10 us."""
    marks = "".join(str(step) * (90 if step == 3 else 10) for step in range(6))
    ops = "".join(("d" * 80 if step == 3 else "") + "mmmmmmmm.." for step in range(6))
    names = NAMES | {"d": "compile_fx_inner (dynamo_timed)"}
    judgement = judged(timeline(f"step | {marks} |\nop | {ops} |", names=names))
    card = cards(judgement)["cpu_compiles"]
    assert plain(judgement.verdict.text) == "torch.compile is at work for 80 µs in step 3. Usual steps take 10 µs."
    assert plain(card.why) == "torch.compile is at work for 80 µs in step 3: its shapes, types or values are new."
    assert (card.gain_ns, card.confidence) == (80_000 // 6, Confidence.MEDIUM)


def test_compiling_at_the_beginning_is_no_cost_of_later_steps():
    assert "cpu_compiles" not in cards(compiling_in(0, 1))


def test_what_a_step_computes_lacks_one_time_work_once():
    """The range of torch.compile's work in the first step runs no op, and is left out of the steady step of 10 us."""
    marks = "0" * 90 + "".join(str(step) * 10 for step in range(1, 6))
    ranges, ops = "d" * 80 + "." * 60, "." * 80 + "mmmmmmm..." * 6
    drawn = f"step | {marks} |\nuser compile_fx_inner (dynamo_timed) | {ranges} |\nop | {ops} |"
    verdict = judged(timeline(drawn, names=NAMES)).verdict
    assert plain(verdict.text) == "The CPU computes for 70 % of a steady step of 10 µs, 70 % in aten::addmm."


def test_a_single_step_is_called_the_recorded_one():
    """No other step shows that what is left without its one-time work is steady."""
    drawn = f"step | {'0' * 14} |\nuser compile_fx_inner (dynamo_timed) | {'d' * 4}{'.' * 10} |"
    judgement = judged(timeline(f"{drawn}\nop | {'.' * 4}mmmmmmm... |", names=NAMES))
    verdict, basis = plain(judgement.verdict.text), judgement.headlines["overview"].basis
    assert "70 % of 10 µs of the recorded step" in verdict
    assert basis is not None
    assert "4 µs of one-time costs in the recorded step of 14 µs." in plain(basis)


def with_updates(optimizer: str = "AdamW", update: str = "aten::sqrt") -> Trace:
    """Steps of 10 us, of which the ops of an update and the gaps between them take 5 us."""
    return timeline(
        f"""
        step                                  | {"".join(str(step) * 10 for step in range(4))} |
        op                                    | {"ccc.eed.d." * 4} |
        user Optimizer.step#{optimizer}.step  | {"...oooooo." * 4} |""",
        names=NAMES | {"e": update, "d": "aten::addcdiv_"},
    )


@pytest.mark.parametrize(
    ("optimizer", "update", "fires"),
    [
        ("AdamW", "aten::sqrt", True),
        ("AdamW", "aten::_fused_adamw_", False),
        ("SGD", "aten::add_", False),
    ],
)
def test_adam_is_fused_where_it_takes_a_tenth_of_the_step(optimizer, update, fires):
    card = cards(judged(with_updates(optimizer, update))).get("cpu_optimizer")
    assert (card is not None) is fires
    if card is not None:
        assert (card.gain_ns, card.severity, plain(card.why)) == (
            3_000,
            Severity.MAJOR,
            "AdamW takes 5 µs a step (50 %) in 3 ops and the Python between them. The fused form updates each "
            "parameter in one pass.",
        )
        assert card.how == "torch.optim.AdamW(model.parameters(), fused=True)  # on the CPU since torch 2.4"


def test_python_between_the_ops_of_an_optimizer_is_its_own_even_where_python_takes_most_of_the_step():
    trace = timeline(
        f"""
        step                            | {"".join(str(step) * 20 for step in range(4))} |
        op                              | {"mm.....e..d..e..d..." * 4} |
        user Optimizer.step#AdamW.step  | {"...ooooooooooooooo.." * 4} |""",
        names=NAMES | {"e": "aten::sqrt", "d": "aten::addcdiv_"},
    )
    judgement = judged(trace)
    assert plain(judgement.verdict.text).startswith("No op is recorded for 70 % of a step")
    assert cards(judgement)["cpu_optimizer"].gain_ns == 8_000, (
        "four ops and three gaps, less the pass that writes the parameters"
    )
    assert judgement.insights[0].id == "cpu_optimizer"


def test_an_optimizer_promises_a_share_of_steps_without_the_profiler():
    slowed = replace(with_updates(), step_pace=StepPace(10_000, 20, 5_000, 20))
    assert cards(judged(slowed))["cpu_optimizer"].gain_ns == 1_500


@pytest.mark.parametrize(
    ("node", "inside", "gain_ns"),
    [
        ("EmbeddingBackward0", "..ff......", 2_000),
        ("EmbeddingBagBackward0", "..ff......", 2_000),
        ("EmbeddingBackward0", "..f.......", 1_000),
        ("EmbeddingBackward0", "..ffa.....", 0),  # the sum with another gradient of the table is dense
        ("EmbeddingBackward0", ".......ff.", 0),  # outside of the node, as zero_grad fills
        ("EmbeddingBackward0", "..ee......", 0),
        ("IndexBackward0", "..ff......", 0),
    ],
)
def test_zeros_that_fill_the_gradient_of_a_table_are_to_be_left_out(node: str, inside: str, gain_ns: int):
    trace = timeline(
        f"""
        step | {"".join(str(step) * 10 for step in range(4))} |
        op   | {"mmnnnnn..." * 4} |
        op   | {inside * 4} |""",
        names=NAMES | {"n": f"autograd::engine::evaluate_function: {node}", "f": "aten::fill_", "a": "aten::add"},
    )
    found = [each for each in judged(trace).insights if each.id == "sparse_gradients"]
    assert [each.gain_ns for each in found] == ([gain_ns] if gain_ns else [])


@pytest.mark.parametrize(
    ("between", "optimizer", "updates", "gain_ns"),
    [
        ("aten::mul", "SGD", ["aten::add_", "aten::add_"], 2_000 + 2_000),
        ("aten::mul", "SGD", ["aten::_foreach_add_", "aten::_foreach_add_"], 2_000 + 2_000),
        ("aten::linalg_vector_norm", "SGD", ["aten::add_", "aten::add_"], None),
        ("aten::mul", "SGD", ["aten::mul_", "aten::add_"], None),  # momentum
        ("aten::mul", "SGD", ["aten::add", "aten::add_"], None),  # weight decay
        ("aten::mul", "SGD", ["aten::_fused_sgd_", "aten::_fused_sgd_"], None),
        ("aten::mul", "Adagrad", ["aten::addcmul_", "aten::addcdiv_"], 2_000),
        ("aten::mul", "Adagrad", ["aten::add", "aten::addcdiv_"], None),
        ("aten::mul", "AdamW", ["aten::mul_", "aten::addcdiv_"], None),
        ("aten::mul", "RMSprop", ["aten::mul_", "aten::addcdiv_"], None),
    ],
)
def test_what_needs_all_rows_of_a_table_takes_no_sparse_gradients(between, optimizer, updates, gain_ns):
    names = {"n": "autograd::engine::evaluate_function: EmbeddingBackward0", "f": "aten::fill_", "m": "aten::addmm"}
    trace = timeline(
        f"""
        step | {"".join(str(step) * 10 for step in range(4))} |
        user Optimizer.step#{optimizer}.step | {".......oo." * 4} |
        op   | {"mmnnnncuv." * 4} |
        op   | {"..ff......" * 4} |""",
        names=names | {"c": between, "u": updates[0], "v": updates[1]},
    )
    found = [each.gain_ns for each in judged(trace).insights if each.id == "sparse_gradients"]
    assert found == ([gain_ns] if gain_ns else [])


def test_the_pass_of_the_optimizer_over_tables_takes_twice_what_filling_takes():
    """The rest of the update is that of other parameters."""
    names = {"n": "autograd::engine::evaluate_function: EmbeddingBackward0", "f": "aten::fill_", "a": "aten::add_"}
    trace = timeline(
        f"""
        step | {"".join(str(step) * 10 for step in range(4))} |
        user Optimizer.step#SGD.step | {"....ooooo." * 4} |
        op   | {"nnn.aaaaa." * 4} |
        op   | {".f........" * 4} |""",
        names=NAMES | names,
    )
    found = [each.gain_ns for each in judged(trace).insights if each.id == "sparse_gradients"]
    assert found == [1_000 + 2 * 1_000]


TABLE, HEAD = "[1000,8]", "[8,4]"


def of_table(
    indices: str,
    updates: tuple[str, str],
    optimizer: str = "SGD",
    ops: tuple[str, str] = ("aten::add_", "aten::add_"),
    free: str = "...",
    bag: str = ".",
) -> dict[str, Insight]:
    """The cards of a training of which each step fills a gradient of 1,000 rows for 2 us. updates: the first inputs of
    two ops of the optimizer, of 2 and 1 us. free: what `zero_grad` does in 3 us after 10 us, if anything: z frees
    gradients, f fills them. bag: b fills the list of a bag's sizes for 1 us, before the gradient."""
    size = len(free) if "z" in free else 0
    rest = "." * size
    names = {"n": "autograd::engine::evaluate_function: EmbeddingBackward0", "d": "aten::embedding_dense_backward"}
    trace = timeline(
        f"""
        step | {"".join(str(step) * (10 + size) for step in range(4))} |
        user Optimizer.step#{optimizer}.step | {("......oooo" + rest) * 4} |
        user Optimizer.zero_grad#{optimizer}.zero_grad | {(".........." + "z" * size) * 4} |
        op   | {("mnnnnnuuv." + rest) * 4} |
        op   | {("..ddd....." + rest) * 4} |
        op   | {(f".{bag}ff......"[:10] + free.replace("z", ".")[:size]) * 4} |""",
        names=NAMES | names | {"f": "aten::fill_", "b": "aten::zero_", "u": ops[0], "v": ops[1]},
        inputs={
            "d": (f"[[64,8],{indices},[],[],[]]", "[]"),
            "f": (f"[{TABLE},[]]", "[]"),
            "b": ("[[64]]", "[]"),
            "u": (f"[{updates[0]},[],[]]", "[]"),
            "v": (f"[{updates[1]},[],[]]", "[]"),
        },
    )
    return {insight.id: insight for insight in judged(trace).insights}


def test_an_update_after_two_batches_needs_the_rows_of_both():
    """Each has indices for a tenth of the rows: sparse gradients spare the fills 0.8 of their time, the update 0.6."""
    node = "autograd::engine::evaluate_function: EmbeddingBackward0"
    backward, fill = "aten::embedding_dense_backward", "aten::fill_"
    inputs = ("[[64,8],[100],[],[],[]]", "[]"), (f"[{TABLE},[]]", "[]")
    trace = timeline(
        f"""
        step | {"".join(str(step) * 12 for step in range(4))} |
        user Optimizer.step#SGD.step | {"........ooo." * 4} |
        op   | {"mnnn.kkkuuv." * 4} |
        op   | {".ddd.eee...." * 4} |
        op   | {".f...h......" * 4} |""",
        names=NAMES | {"n": node, "k": node, "d": backward, "e": backward, "f": fill, "h": fill,
                       "u": "aten::add_", "v": "aten::add_"},
        inputs={"d": inputs[0], "e": inputs[0], "f": inputs[1], "h": inputs[1],
                "u": (f"[{TABLE},[],[]]", "[]"), "v": (f"[{HEAD},[],[]]", "[]")},
    )  # fmt: skip
    (found,) = [each for each in judged(trace).insights if each.id == "sparse_gradients"]
    assert found.gain_ns == round(0.8 * 2_000 + 0.6 * 2_000)


@pytest.mark.parametrize(
    ("indices", "updates", "saved_ns"),
    [
        ("[0]", (HEAD, HEAD), 2_000),
        ("[0]", (TABLE, HEAD), 2_000 + 2_000),
        ("[10,10]", (TABLE, HEAD), 0.8 * (2_000 + 2_000)),
        ("[400]", (TABLE, HEAD), None),  # 0.2 * 4 us is less than a tenth of the step
        ("[1000]", (TABLE, HEAD), None),
        ("[]", (TABLE, HEAD), None),  # how many rows the batch needs is not recorded
        ("[0]", ("[-1,8]", "[[-1,8]]"), 2_000),
        ("[0]", ("[]", "{}"), 2_000),
        ("[0]", (TABLE, TABLE), 2_000 + 1_000 + 500),  # an output layer of the table's shape
        ("[0]", (f"[{TABLE},{TABLE}]", HEAD), 2_000 + 1_000),  # both in one foreach op
        ("[0]", (f"[{HEAD},{HEAD}]", f"[{TABLE}]"), 2_000 + 1_000),
    ],
)
def test_sparse_gradients_spare_the_rows_of_a_table_that_no_batch_needs(indices, updates, saved_ns):
    found = of_table(indices, updates).get("sparse_gradients")
    assert (found and (found.gain_ns, found.confidence)) == (saved_ns and (saved_ns, Confidence.MEDIUM))


@pytest.mark.parametrize(
    ("free", "indices", "updated", "saved_ns"),
    [
        (
            "zzz",
            "[0]",
            TABLE,
            2_000 + 2_000 + 2_000,
        ),  # of three cells, two are of the tables, as of the optimizer's pass
        ("zzz", "[10,10]", TABLE, 0.8 * (2_000 + 2_000 + 2_000)),
        ("zzz", "[0]", HEAD, 2_000),
        ("zzf", "[0]", TABLE, 2_000 + 2_000 + 1_333),  # an op in it fills other gradients
        ("...", "[0]", TABLE, 2_000 + 2_000),
    ],
)
def test_sparse_gradients_spare_what_frees_those_of_a_table(free, indices, updated, saved_ns):
    found = of_table(indices, (updated, HEAD), free=free).get("sparse_gradients")
    assert found is not None
    assert found.gain_ns == pytest.approx(saved_ns, abs=1)


def test_the_table_of_a_bag_is_the_largest_that_its_gradient_fills():
    """The lists that are filled before it have another shape than what the optimizer updates."""
    found = of_table("[0]", (TABLE, HEAD), bag="b").get("sparse_gradients")
    assert found and found.gain_ns == 1_000 + 2_000 + 2_000


@pytest.mark.parametrize(("updated", "kept"), [(TABLE, "sparse_gradients"), (HEAD, "cpu_optimizer")])
def test_of_sparse_gradients_and_a_fused_form_one_is_advised(updated, kept):
    """Adagrad takes 2 us a step in an op that the fused form does not need, on the table or on other layers."""
    ops = ("aten::addcmul_", "aten::addcdiv_")
    found = of_table("[200]" if updated is HEAD else "[0]", (updated, HEAD), "Adagrad", ops)
    assert [id for id in found if id in ("sparse_gradients", "cpu_optimizer")][:1] == [kept]
    assert ("cpu_optimizer" in found) == (kept == "cpu_optimizer")


@pytest.mark.parametrize("left_out_us", [0, 1, 4])
def test_one_time_work_between_ops_is_no_time_outside_of_ops(left_out_us: int):
    """Five of ten us of a step are outside of ops; this many are left out of the judged step."""
    trace = timeline(
        f"step | {'0' * 10}{'1' * 10} |\nuser r | {'.rrrr.....' * 2} |\nop | {'m.....mmmm' * 2} |", names=NAMES
    )
    results = {each.id: each.analyse(trace) for each in ANALYSES}
    cpu = results["host"].cpu
    results["host"] = replace(results["host"], cpu=replace(cpu, step_ns=cpu.step_ns - left_out_us * 1_000))
    assert outside_ops_ns(Facts(results)) == 5_000 - left_out_us * 1_000


def test_the_closure_of_an_optimizer_is_no_update():
    """Lightning runs the model inside `Optimizer.step`: its convolutions are the model's."""
    trace = timeline(
        f"""
        step                           | {"".join(str(step) * 10 for step in range(4))} |
        user Optimizer.step#AdamW.step | {"ooooooooo." * 4} |
        op                             | {"cccnmeede." * 4} |""",
        names=NAMES | {"e": "aten::sqrt", "d": "aten::addcdiv_", "n": "ConvolutionBackward0", "m": "AddmmBackward0"},
    )
    found = cards(judged(trace))
    assert found["cpu_optimizer"].gain_ns == 3_000
    assert plain(found["cpu_ops"].why).startswith("Convolutions take 4 µs a step (40 %)")


@pytest.mark.parametrize(
    ("long", "filler", "fires"),
    [
        ({2, 5, 8}, "........", True),  # every third step
        ({2, 5, 7}, "........", False),  # by chance
        ({2, 5}, "........", False),
        ({2, 5, 8}, "mmmmmmmm", False),  # ops take longer, as where an optimizer runs only now and then
    ],
)
def test_steps_that_are_slow_at_equal_distances_are_the_loops_own(long, filler, fires):
    ops = ["mmmmm." + "e" * (step % 2) + (filler if step in long else "") for step in range(10)]
    marks = "".join(chr(ord("A") + step) * len(each) for step, each in enumerate(ops))
    judgement = judged(timeline(f"step | {marks} |\nop | {''.join(ops)} |", names=NAMES))
    card = next((each for each in judgement.insights if each.id == "slow_steps"), None)
    assert (card is not None) is fires
    if card is not None:
        assert plain(card.why) == ("3 of 10 steps are slow. Step 5 takes 8 µs longer than usual (outside ops: 8 µs).")


@pytest.mark.parametrize(
    ("ops", "frames", "fires"),
    [
        ("mmmm......", "", True),
        ("mmmmm.....", "", False),  # as much as the products
        ("mmmccc....", "", True),  # products and convolutions take less each
        ("mmeeeeee..", "", False),  # the products take as much
        ("meeeeeee..", "", True),  # ops of all other kinds are no kind
        ("e.........", "", True),
        ("meeeeeeee.", "", False),  # less than a fifth
        ("mmmm......", "ff", False),
    ],
)
def test_call_stacks_are_asked_for_where_more_is_outside_ops_than_in_any_kind(ops, frames, fires):
    marks = "".join(str(step) * 10 for step in range(4))
    python = f"\npython | {frames.ljust(40, '.')} |" if frames else ""
    trace = timeline(
        f"step | {marks} |\nop | {ops * 4} |{python}",
        names=NAMES | {"f": "train.py(3): load"},
        job=Job(with_stack=bool(frames)),
    )
    card = cards(judged(trace)).get("cpu_outside")
    assert (card is not None) is fires
    if card is not None:
        assert (card.severity, card.how) == (Severity.MINOR, "profile(..., with_stack=True)")
        assert plain(card.why).startswith("For ") and "no op is recorded." in plain(card.why)


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ({2: 90}, "mainly in one pause of 90.0 ms in step 2. Without it a step takes 10.0 ms."),
        ({2: 90, 4: 90}, ", mostly in 2 of 6 steps. Usual steps take 10.0 ms."),  # neither is half of that time
        (dict.fromkeys(range(6), 20), ": Python code outside of ops, or waits."),
    ],
)
def test_a_single_pause_between_ops_is_named_where_it_makes_most_of_the_time_without_ops(between, verdict):
    steps = {step: "mmmmnmmmo." + "." * between.get(step, 0) for step in range(6)}
    marks = "".join(str(step) * len(cells) for step, cells in steps.items())
    names = NAMES | {"n": "aten::add", "o": "aten::sub"}
    trace = timeline(f"step | {marks} |\nop | {''.join(steps.values())} |", names=names, cell_ns=1_000_000)
    assert plain(judged(trace).verdict.text).endswith(verdict)


def test_a_pause_in_an_op_is_none_between_ops():
    steps = {step: "m" * (104 if step == 2 else 4) + "nmmmo" + "." * 31 for step in range(6)}
    marks = "".join(str(step) * len(cells) for step, cells in steps.items())
    names = NAMES | {"n": "aten::add", "o": "aten::sub"}
    trace = timeline(f"step | {marks} |\nop | {''.join(steps.values())} |", names=names, cell_ns=1_000_000)
    verdict = plain(judged(trace).verdict.text)
    assert verdict.startswith("No op is recorded for") and "pause" not in verdict


@pytest.mark.parametrize("around", ["", "\nuser train | " + "u" * 40 + " |"], ids=["no range", "in a range"])
def test_python_between_ops_is_no_computing_also_within_a_named_range(around: str):
    marks = "".join(str(step) * 10 for step in range(4))
    judgement = judged(timeline(f"step | {marks} |\nop | {'mmmm......' * 4} |{around}", names=NAMES))
    assert plain(judgement.verdict.text).startswith("No op is recorded for 60 % of a step of 10 µs")
    assert "cpu_outside" in cards(judgement)


@pytest.mark.parametrize(
    ("ranges", "inside"),
    [
        ("uuuuuuuuuu|..vvvvvvv.", "v"),  # the innermost
        ("uuuuuuuuuu|vv......vv", "u"),  # neither call of v holds half of the time
        ("uu........|..........", None),
    ],
)
def test_the_range_that_holds_most_of_the_time_outside_ops_is_named(ranges: str, inside: str | None):
    outer, inner = ranges.split("|")
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nuser u | {outer * 3}{outer[:9]}. |\nuser v | {inner * 4} |\nop | {'mm........' * 4} |"
    card = cards(judged(timeline(drawn, names=NAMES)))["cpu_outside"]
    assert (f" of it in {inside}." in plain(card.why)) is (inside is not None)


@pytest.mark.parametrize(("around", "between_ns"), [("rrrrrrrr..", 3_000), ("rrrrr.....", None)])
def test_the_bar_counts_named_ranges_that_the_verdict_does_not(around: str, between_ns: int | None):
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nuser work | {around * 4} |\nop | {'ccccc.....' * 4} |"
    basis = judged(timeline(drawn, names=NAMES)).headlines["overview"].basis
    assert (basis and basis.values["between"].value) == between_ns


def test_no_op_is_first_where_more_of_the_step_is_outside_ops():
    names = NAMES | {"c": "aten::mkldnn_convolution"}
    steps = "".join(str(number) * 10 for number in range(4))
    found = judged(timeline(f"step | {steps} |\nop | {'cccmm.....' * 4} |", names=names))
    assert [plain(each.title) for each in found.insights] == [
        "Record call stacks, too", "Speed up `aten::mkldnn_convolution`",
    ]  # fmt: skip
    assert found.headlines["overview"].card == "cpu_outside"


def test_anomaly_detection_is_to_be_turned_off():
    names = {"e": "autograd::engine::evaluate_function: AddmmBackward0", "n": "aten::isnan", "t": "aten::_is_any_true"}
    steps = "".join(str(number) * 10 for number in range(4))
    drawn = f"step | {steps} |\nop | {'mmmeeeee..' * 4} |\nop | {'....bnnt..' * 4} |"
    (card, *_) = judged(timeline(drawn, names=NAMES | names)).insights
    assert (card.id, card.gain_ns, card.severity) == ("anomaly_detection", 3_000, Severity.MAJOR)
    assert plain(card.why) == (
        "Autograd checks one gradient of a step for NaN, in 3 µs, and keeps the stack of each op."
    )
