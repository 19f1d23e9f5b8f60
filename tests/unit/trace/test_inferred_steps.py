"""Steps of recordings without step marks: what shows them, where they begin and end, and when none are inferred."""

from __future__ import annotations

import pytest

from tb_steptime.text import count, fraction, text
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import as_one_step, find_steps, inferred_steps
from tests.drawn.real_traces import REAL, cases, read_real
from tests.drawn.timeline import timeline

OPTIMIZER = "user Optimizer.step#SGD.step"


def windows(trace: Trace) -> list[tuple[str, int, int]]:
    return [(step.name, step.start_ns, step.end_ns) for step in find_steps(trace).steps]


def shown_by(trace: Trace) -> tuple[int, str] | None:
    """The number of calls and their name, as the note states them."""
    (note,) = find_steps(trace).notes
    return (note.values["count"].value, note.values["name"].value) if note.id == "inferred_steps" else None


def test_a_step_goes_from_the_end_of_an_optimizer_step_to_the_end_of_the_next():
    trace = timeline(f"""
        op          | .a.b.c.a.b.c.a.b.c.z. |
        {OPTIMIZER} | .....o.....o.....oo.. |""")
    steps = find_steps(trace)
    assert windows(trace) == [("1", 1_000, 6_000), ("2", 6_000, 12_000), ("3", 12_000, 19_000)]
    assert [step.number for step in steps.steps] == [None] * 3
    assert steps.by == "inferred"
    (note,) = steps.notes
    values = {"share": fraction(0.9), "confidence": text("high")}
    assert (note.id, note.values) == (
        "inferred_steps",
        {"count": count(3), "name": text("Optimizer.step#SGD.step"), **values},
    )


def test_the_first_step_begins_with_the_wait_for_its_batch():
    trace = timeline(f"""
        loader      | .lll...lll...lll... |
        op          | .....ab...ab....ab. |
        {OPTIMIZER} | ......o....o.....o. |""")
    assert windows(trace)[:2] == [("1", 1_000, 7_000), ("2", 7_000, 12_000)]


def test_with_a_device_they_reach_to_the_end_of_the_work_that_they_launched():
    trace = timeline(f"""
        op          | .a.b..a.b..a.b....... |
        runtime     | .k....l....m......... |
        {OPTIMIZER} | ....o....o....o...... |
        kernel 7    | ..kkkkkkk.llll.mmmmm. |""")
    assert windows(trace) == [("1", 1_000, 9_000), ("2", 9_000, 14_000), ("3", 14_000, 20_000)]


@pytest.mark.parametrize(
    ("before", "first"),
    [("a.b.c.", ("1", 0, 6_000)), ("...b..", ("1", 6_000, 12_000)), ("abcabc", ("1", 6_000, 12_000))],
)
def test_what_comes_before_the_first_call_is_a_step_where_it_has_the_work_of_one(before, first):
    trace = timeline(f"""
        op          | {before}a.b.c.a.b.c.a.b.c. |
        {OPTIMIZER} | .....o.....o.....o.....o |""")
    assert windows(trace)[0] == first


def test_calls_that_alternate_in_name_or_in_work_make_one_step():
    """Two optimizers that each step once per loop do this."""
    alike = timeline(f"""
        op          | a.b.a.b.a.b.a.b.a.b.a.b. |
        {OPTIMIZER} | ...o...o...o...o...o...o |""")
    by_name = timeline("""
        op                           | a.b.a.b.a.b.a.b.a.b.a.b. |
        user Optimizer.step#SGD.step | ...o.......o.......o.... |
        user Optimizer.step#Lion.step | .......o.......o.......o |""")
    by_work = timeline(f"""
        op          | abababaaabababaaabababaa |
        {OPTIMIZER} | .....o.o.....o.o.....o.o |""")
    whole = [("1", 0, 8_000), ("2", 8_000, 16_000), ("3", 16_000, 24_000)]
    assert len(windows(alike)) == 6
    assert (windows(by_name), windows(by_work)) == (whole, whole)


@pytest.mark.parametrize(("nodes", "steps"), [("gdgdgd", 3), ("gdgdgg", 6), ("gggggg", 6)])
def test_two_optimizers_of_one_class_compute_other_gradients(nodes: str, steps: int):
    """What is logged in every second step shows no second optimizer."""
    rounds = [f"a.b.a.b.{node}.{log}..." for node, log in zip(nodes, ".l" * 3, strict=True)]
    trace = timeline(
        f"""
        op          | {"".join(rounds)} |
        {OPTIMIZER} | {".............o" * 6} |""",
        names={each: f"autograd::engine::evaluate_function: {each}Backward0" for each in "gd"},
    )
    assert len(windows(trace)) == steps


@pytest.mark.parametrize(("nodes", "steps"), [("ggg" * 3, 9), ("ggd" * 3, 3)])
def test_what_every_third_step_does_besides_is_no_other_optimizer(nodes: str, steps: int):
    rounds = [f"a.b.a.b.{node}.{more}.." for node, more in zip(nodes, ("......", "......", "lmlmlm") * 3, strict=True)]
    trace = timeline(
        f"""
        op          | {"".join(rounds)} |
        {OPTIMIZER} | {".................o" * 9} |""",
        names={each: f"autograd::engine::evaluate_function: {each}Backward0" for each in "gd"},
    )
    assert len(windows(trace)) == steps


def test_two_optimizers_that_work_alike_share_the_step_of_their_batch():
    trace = timeline(f"""
        loader      | l.......l.......l....... |
        op          | .ba..ba..ba..ba..ba..ba. |
        {OPTIMIZER} | ...o...o...o...o...o...o |""")
    assert windows(trace) == [("1", 0, 8_000), ("2", 8_000, 16_000), ("3", 16_000, 24_000)], (
        "to the end of the recording"
    )
    assert shown_by(trace) == (3, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")


def test_a_token_is_chosen_at_the_end_of_each_step():
    trace = timeline(
        "op | abababc.abababc.abababc. |",
        names={"c": "aten::argmax"},
    )
    assert windows(trace) == [("1", 0, 7_000), ("2", 7_000, 15_000), ("3", 15_000, 23_000)]


def test_fewer_than_three_show_no_steps():
    trace = timeline(f"""
        op          | .a.b.c.a.b.c. |
        {OPTIMIZER} | .....o.....o. |""")
    assert (windows(trace), find_steps(trace).by) == ([("0", 1_000, 12_000)], "recording")
    assert shown_by(trace) is None


def test_steps_that_are_not_alike_are_none():
    trace = timeline(f"""
        op          | abcdefgh.a.b.......abcdefabcdefabcdef. |
        {OPTIMIZER} | ........o...o...o...................o. |""")
    assert shown_by(trace) is None


def test_without_an_optimizer_steps_begin_with_the_wait_for_a_batch():
    """The loader's last mark shows the end of the epoch, and begins no step."""
    trace = timeline("""
        loader | l......l......l......l.. |
        op     | .a.b.c..a.b.c..a.b.c...z |""")
    assert windows(trace) == [("1", 0, 7_000), ("2", 7_000, 14_000), ("3", 14_000, 21_000)]
    epochs = timeline("""
        loader | l......l......l.l......l...... |
        op     | .a.b.c..a.b.c....a.b.c..a.b.c. |""")
    assert windows(epochs) == [("1", 0, 7_000), ("2", 7_000, 16_000), ("3", 16_000, 23_000), ("4", 23_000, 29_000)]


@pytest.mark.parametrize(
    ("line", "names", "evidence"),
    [
        ("python", {"m": "nn.Module: Net_0"}, "nn.Module: Net_0"),
        ("user model_inference", {}, "model_inference"),
        ("op", {"m": "Torch-Compiled Region: 0/0"}, "Torch-Compiled Region: 0/0"),
        ("user execute_context_1(8)_generation_0(0)", {}, "execute_context_1(8)_generation_0(0)"),
    ],
)
def test_an_inference_begins_a_step_with_each_call_of_its_model(line, names, evidence):
    trace = timeline(
        f"""
        {line} | mmmmm..mmmmm..mmmmm.. |
        op     | .abcd.e.abcd.e.abcd.e |""",
        names=names,
    )
    assert windows(trace) == [("1", 0, 7_000), ("2", 7_000, 14_000), ("3", 14_000, 21_000)]
    assert shown_by(trace) == (3, evidence)


def test_prefill_and_decoding_of_a_server_are_steps_however_little_of_the_time_their_ranges_cover():
    trace = timeline("""
        user step[EXTEND bs=1 toks=8] | mm.................. |
        user step[DECODE bs=1]        | .....mm...mm...mm... |
        op                            | ab...ab...ab...ab... |""")
    assert windows(trace) == [("1", 0, 5_000), ("2", 5_000, 10_000), ("3", 10_000, 15_000), ("4", 15_000, 17_000)]
    assert shown_by(trace) == (4, "step[DECODE bs=1]")


def test_compiled_code_begins_steps_however_little_of_the_time_it_covers():
    """The backward pass runs on a thread of its own, and the first call compiles."""
    trace = timeline(
        """
        op        | m............................mm........mm........ |
        op engine | ......................abcdef.....abcdef....abcdef |""",
        names={"m": "Torch-Compiled Region: 0/0", "a": "autograd::engine::evaluate_function: MulBackward0"},
    )
    assert shown_by(trace) == (3, "Torch-Compiled Region: 0/0")


@pytest.mark.parametrize(
    ("layers", "runtime"),
    [("abcmdabcmdabcmdabcmd", "...................."), ("abmcmabmcmabmcmabmcm", "...................."),
     ("abcmdabcmdabcmdabcmd", "...................s")],
)  # fmt: skip
def test_compiled_parts_of_layers_are_no_steps(layers: str, runtime: str):
    trace = timeline(
        f"""
        op      | {layers} |
        runtime | {runtime} |""",
        names={"m": "Torch-Compiled Region: 0/0"},
        calls={"s": "cudaDeviceSynchronize"},
    )
    assert shown_by(trace) is None


@pytest.mark.parametrize(
    ("name", "runtime", "steps"),
    [
        ("model_inference", "....................", 4),
        ("block", "....................", None),  # the layers of one pass
        ("decoder_layer_forward", "....................", None),
        ("self_attention", "....................", None),
        ("player_turn", "....................", 4),
        ("block", "....s....s....s....s", 4),  # a benchmark of a block
    ],
)
def test_ranges_around_parts_of_a_model_are_no_steps(name: str, runtime: str, steps: int | None):
    trace = timeline(
        f"""
        user {name} | mmmm.mmmm.mmmm.mmmm. |
        op          | abcd.abcd.abcd.abcd. |
        runtime     | {runtime} |""",
        calls={"s": "cudaDeviceSynchronize"},
    )
    assert shown_by(trace) == (None if steps is None else (steps, name))


#: A block of a model that is compiled by itself, and what runs before and behind the blocks: region and ops.
_BLOCKS = {"B": ("mmmm.", "abcd."), "o": ("...", "ef.")}
NINE = "BBBBBBBBBo"


@pytest.mark.parametrize(
    ("blocks", "steps"),
    [
        (f"{NINE}{NINE}{NINE}{NINE}", [48, 48, 48, 48]),
        (f"{NINE[4:]}{NINE}{NINE}{NINE}BBBB", [48, 48, 48, 48]),  # the recording begins in the fifth block
        ("BBBBBBBBBBBB", [5] * 12),  # nothing runs between: a model that is called twelve times
        (f"{NINE}{NINE}BBBBBBBBB", [*[5] * 8, 8] * 3),  # twice may be chance
        (f"{NINE}{NINE[1:]}{NINE}{NINE}", [*[5] * 8, 8, *[5] * 7, 8, *[*[5] * 8, 8] * 2]),
    ],
)
def test_blocks_that_are_compiled_by_themselves_are_a_step_together(blocks: str, steps: list[int]):
    region, ops = ("".join(_BLOCKS[each][line] for each in blocks) for line in (0, 1))
    trace = timeline(f"op | {region} |\nop | {ops} |", names={"m": "Torch-Compiled Region: 0/0"})
    assert [round((end - start) / 1_000) for _, start, end in windows(trace)][:-1] == steps[:-1]


def test_compiled_parts_of_a_model_that_is_timed_begin_steps():
    trace = timeline(
        """
        op      | abcmd.abcmd.abcmd.abcmd. |
        runtime | .....s.....s.....s.....s |""",
        names={"m": "Torch-Compiled Region: 0/0"},
        calls={"s": "cudaDeviceSynchronize"},
    )
    assert shown_by(trace) == (4, "Torch-Compiled Region: 0/0")


def test_a_range_that_is_a_small_part_of_the_time_marks_no_step():
    trace = timeline("""
        user attention | mm....mm....mm.... |
        op             | abcdefabcdefabcdef |""")
    assert shown_by(trace) is None


def test_layers_within_a_model_are_none():
    trace = timeline(
        """
        python | NNNNNNNNNNNNNNNNNN |
        python | .mmmm.mmmm.mmmm... |
        op     | .abcd.abcd.abcd... |""",
        names={"N": "nn.Module: Net_0", "m": "nn.Module: Linear_0"},
    )
    assert shown_by(trace) is None


@pytest.mark.parametrize(("kernels", "evidence"), [(30, (3, "cudaGraphLaunch")), (29, None)])
def test_launches_of_a_whole_graph_begin_steps(kernels, evidence):
    launches = "".join(char + "." * (2 * kernels) for char in "abc")
    launched = "".join("." + f"{char}." * kernels for char in "abc")
    trace = timeline(
        f"""
        runtime  | {launches} |
        kernel 7 | {launched} |""",
        calls=dict.fromkeys("abc", "cudaGraphLaunch"),
    )
    assert shown_by(trace) == evidence


def test_marked_steps_stay_as_they_are_marked():
    trace = timeline(f"""
        step        | 555555666666 |
        op          | abc.abc.abc. |
        {OPTIMIZER} | ...o...o...o |""")
    assert windows(trace) == [("5", 0, 6_000), ("6", 6_000, 12_000)]


def test_the_whole_recording_may_be_asked_for_as_one_step():
    inferred = as_one_step(
        timeline(f"""
        op          | .a.b.c.a.b.c.a.b.c.z. |
        {OPTIMIZER} | .....o.....o.....oo.. |""")
    )
    marked = as_one_step(timeline("step | 555666 |\n op | a..b.c |"))
    assert (windows(inferred), windows(marked)) == ([("0", 1_000, 20_000)], [("0", 0, 6_000)])
    assert [[note.id for note in find_steps(each).notes] for each in (inferred, marked)] == [
        ["no_steps"],
        ["whole_recording"],
    ]


#: Real recordings with marked steps that could also be inferred.
TRAININGS = [
    name for name in REAL if name.startswith(("hta_a100_ddp", "hta_v100", "kineto_", "tracelens_mi300_resnet"))
]


@pytest.mark.parametrize("name", cases(TRAININGS))
def test_of_real_trainings_they_are_as_long_as_the_marked_ones(name):
    """The first and last steps differ: their marks also contain what runs before and after the loop."""
    trace = read_real(name)
    marked, inferred = trace.events.dur_ns[step_marks(trace)], inferred_steps(trace)
    assert inferred is not None and len(inferred.start_ns) == len(marked)
    assert (inferred.end_ns - inferred.start_ns)[1:-1] == pytest.approx(marked[1:-1], rel=0.02)


def notes(trace: Trace) -> list[tuple[str, dict[str, object]]]:
    return [(note.id, {key: value.value for key, value in note.values.items()}) for note in find_steps(trace).notes]


def test_calls_that_mean_a_step_and_hold_the_work_are_sure_and_what_only_repeats_is_less():
    def said(line: str) -> list[tuple[str, dict[str, object]]]:
        return notes(timeline(f"{line} | mmmmm..mmmmm..mmmmm.. |\n op | .abcd.e.abcd.e.abcd.e |"))

    values = {"count": 3, "share": 1.0}
    assert said("user train_step") == [("inferred_steps", {**values, "name": "train_step", "confidence": "high"})]
    assert said("user busy") == [("inferred_steps", {**values, "name": "busy", "confidence": "medium"})]


@pytest.mark.parametrize(
    "name",
    ["forward", "iteration 1", "model_forward", "gpu_model_runner: forward", "training step #7", "execute_model"],
)
def test_a_range_around_one_pass_begins_a_step_however_short_it_is(name):
    """A captured graph is like this: the host launches it at once."""
    trace = timeline(f"""
        user {name} | mm.....mm.....mm..... |
        op          | .abcd.e.abcd.e.abcd.e |""")
    assert windows(trace) == [("1", 0, 7_000), ("2", 7_000, 14_000), ("3", 14_000, 21_000)]


@pytest.mark.parametrize("name", ["attn.forward", "layers.3.forward", "FSDP::pre_forward", "Layer_1", "forward hooks"])
def test_a_short_range_of_a_layer_begins_none(name):
    trace = timeline(f"""
        user {name} | mm.....mm.....mm..... |
        op          | .abcd.e.abcd.e.abcd.e |""")
    assert shown_by(trace) is None


def test_what_repeats_and_holds_little_of_the_work_shows_no_steps():
    """Three short replays beside a long evaluation: the windows of the replays do not cover the other 200 us."""
    launches = "".join(char + "." * 60 for char in "abc")
    launched = "".join("." + f"{char}." * 30 for char in "abc")
    trace = timeline(
        f"""
        op       | {"." * 183}x{"." * 201} |
        runtime  | {launches}z{"." * 201} |
        kernel 7 | {launched}.{"z" * 200}. |""",
        calls=dict.fromkeys("abc", "cudaGraphLaunch"),
    )
    replays = timeline(
        f"runtime | {launches} |\n kernel 7 | {launched} |", calls=dict.fromkeys("abc", "cudaGraphLaunch")
    )
    assert (find_steps(replays).by, len(find_steps(replays).steps)) == ("inferred", 3)
    assert (find_steps(trace).by, windows(trace)) == ("recording", [("0", 0, 384_000)])


@pytest.mark.parametrize(("kind", "steps"), [("memcpy", 3), ("kernel", None)])
def test_what_is_copied_before_the_steps_is_no_other_work(kind: str, steps: int | None):
    """A script that moves its model to the GPU, for 40 us, and then chooses four tokens of 8 us each."""
    trace = timeline(
        f"""
        op       | {"wwww." * 10 + "..mm.a.." * 4} |
        runtime  | {"wwww." * 10 + "..m..n.." * 4} |
        {kind} 7 | {".wwww" * 10 + "........" * 4} |
        kernel 7 | {"." * 50 + "...m..n." * 4} |""",
        names={"a": "aten::argmax", "m": "aten::mm"},
    )
    found = find_steps(trace)
    assert (len(found.steps) if found.by == "inferred" else None) == steps


NAMES = {"f": "aten::normal_", "m": "aten::mm", "n": "aten::layer_norm", "e": "aten::embedding", "s": "aten::add"}


def looped(ops: str, **others: str) -> Trace:
    lines = "".join(f"\n {line} | {cells} |" for line, cells in others.items())
    return timeline(f"op | {ops} |{lines}", names=NAMES, calls={"d": "cudaDeviceSynchronize"})


def test_the_rounds_of_a_loop_without_marks_are_steps():
    trace = looped("fmmm" * 100)
    assert [step.start_ns for step in find_steps(trace).steps] == list(range(0, 400_000, 4_000))
    assert notes(trace) == [
        ("inferred_steps", {"count": 100, "name": "aten::normal_", "share": 1.0, "confidence": "medium"})
    ]


@pytest.mark.parametrize(
    ("labels", "steps"),
    [
        (("mm",) * 4, 4),
        (("step 7", "step 8", "step 9", "step 10"), 4),
        (("epoch 0", "epoch 0", "epoch 1", "epoch 1"), 4),
        (("mm_128", "mm_256", "mm_512", "mm_1024"), None),
        (("mm", "baddbmm", "einsum", "linear"), None),
        (("mm", "mm", "mm", ""), 4),
    ],
    ids=["of one name", "counted", "counted by a range around several", "sizes", "variants", "not around all"],
)
def test_rounds_under_different_labels_are_no_steps(labels: tuple[str, ...], steps: int | None):
    ranges = {
        f"user {name}": "".join("uuuu." if each == name else "....." for each in labels) for name in labels if name
    }
    found = find_steps(looped("fmmm." * 4, **ranges))
    assert (len(found.steps) if found.by == "inferred" else None) == steps


@pytest.mark.parametrize(("forward", "steps"), [("mn" * 4 + "." * 24, None), ("mn......" * 4, 3)])
def test_gradients_of_layers_are_no_steps_and_those_of_each_forward_pass_are(forward: str, steps: int | None):
    """The backward pass runs on a thread of its own, where the layers of one step repeat as whole steps would."""
    gradients = {each: f"autograd::engine::evaluate_function: {each}Backward0" for each in "ghi"}
    backward = "........" + "gghhiii." * 3 + "gghhiii" if steps is None else "..gghhi." * 4
    found = find_steps(timeline(f"op | {forward} |\n op engine | {backward} |", names=NAMES | gradients))
    assert (len(found.steps) if found.by == "inferred" else None) == steps


def test_each_round_may_have_many_of_an_op_and_other_ops_around_the_loop():
    trace = looped("en" + ("f." * 20 + "m." * 3) * 5)
    assert len(find_steps(trace).steps) == 5
    assert find_steps(trace).steps[0].host_start_ns == 2_000


def test_a_call_of_the_profiler_ends_a_step_also_without_a_schedule():
    """Two optimizer steps in each; the end of the recording is no step."""
    trace = timeline(
        """
        op                           | aaaaa.aaaaa.aaaaa.aaaaa.aaaaa.aaaaa.a. |
        user Optimizer.step#SGD.step | ....o.....o.....o.....o.....o.....o... |
        python                       | ...........p...........p...........p.. |""",
        names={"p": "/env/torch/profiler/profiler.py(1227): step"},
    )
    found = find_steps(trace)
    assert (found.by, windows(trace)) == ("inferred", [("1", 0, 12_000), ("2", 12_000, 24_000), ("3", 24_000, 36_000)])


@pytest.mark.parametrize(
    ("ops", "taken", "given", "steps"),
    [
        ("cnl." * 5, "[[8,3,64,64],[4,3,3,3]]", "[[8,512],[10,512],[10]]", 5),  # a model that is called again
        ("cnl." * 5, "[[8,16]]", "[[8,512],[10,512],[10]]", 5),
        ("cnl." * 5, "[[8,512]]", "[[8,2048],[512,2048],[512]]", None),  # layers
        ("cnl." * 5, "[[8,64]]", "[[8,512],[3,512],[3]]", None),  # layers that take a condition, too
        ("cnl." * 5, "[[]]", "[[8,512],[10,512],[10]]", None),
        ("cnl." * 5, "[[[8,3],[8,3]]]", "[[8,512],[10,512],[10]]", None),  # a list of tensors
        ("cnl." * 2, "[[8,3,64,64]]", "[[8,512],[10,512],[10]]", None),  # only twice
        ("e." + "cnl." * 5, "[[8,3,64,64]]", "[[8,512],[10,512],[10]]", None),  # not alone
        ("clcn" * 5, "[[8,3,64,64]]", "[[8,512],[10,512],[10]]", None),  # another op ends the round
    ],
)
def test_a_model_that_cannot_take_what_it_gives_is_called_again(ops: str, taken: str, given: str, steps: int | None):
    names = NAMES | {"c": "aten::conv2d", "l": "aten::linear"}
    inputs = {"c": (taken, "[]"), "l": (given, "[]"), "n": ("[[8,3]]", "[]"), "e": ("[[8,3]]", "[]")}
    found = find_steps(timeline(f"op | {ops} |", names=names, inputs=inputs))
    assert (len(found.steps) if found.by == "inferred" else None) == steps


@pytest.mark.parametrize(
    ("ops", "copies", "steps"),
    [
        ("nmms." * 6, ("h...d" * 6), 6),
        ("nmms." * 6, ("h...." * 6), None),  # layers whose weights are on the host
        ("nmms." * 6, ("....d" * 6), None),  # layers that read which experts they need
        ("nmms." * 6, ("h...d" + "h...." * 5), None),
        ("e" + "nmms." * 6, ("." + "h...d" * 6), None),  # layers that keep keys and values on the host
        ("nmms." * 2, ("h...d" * 2), None),  # only twice
    ],
)
def test_rounds_that_copy_from_the_host_and_back_are_steps(ops: str, copies: str, steps: int | None):
    names = NAMES | {"h": "Memcpy HtoD (Pageable -> Device)", "d": "Memcpy DtoH (Device -> Pageable)"}
    drawing = f"op | {ops} |\nruntime | {copies} |\nmemcpy 7 | {copies} |"
    found = find_steps(timeline(drawing, names=names, calls={"h": "cudaMemcpyAsync", "d": "cudaMemcpyAsync"}))
    assert (len(found.steps) if found.by == "inferred" else None) == steps


@pytest.mark.parametrize(
    ("ops", "others", "steps"),
    [
        ("e" + "nmsm" * 12 + "m", {}, None),  # the layers of a model
        ("nmsm" * 12, {}, None),  # the layers of a model without anything else
        ("f." * 20, {}, None),  # parameters that are filled one after the other
        ("fn" * 20, {}, None),  # no product
        ("fmmm" * 2, {}, None),  # only twice
        ("fmmm" * 3 + "nsen" * 5, {}, None),  # among many other ops
        ("nms." * 6, {"runtime": "...d" * 6}, 6),  # a loop whose author waits for the device
        ("e" + "nms." * 6, {"runtime": "." + "...d" * 6}, None),  # layers that someone times
    ],
)
def test_layers_that_repeat_are_no_steps(ops, others, steps):
    found = find_steps(looped(ops, **others))
    assert (len(found.steps) if found.by == "inferred" else None) == steps
