"""`tb-steptime whatif`: it prints a replayed step as text and as JSON, and refuses unknown changes."""

import json

import msgspec
import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.replay.changes import changes
from tb_steptime.replay.sweep import INFERRED
from tb_steptime.replay.whatif import what_if
from tb_steptime.terminal.whatif_report import CHANGED, SpanWhatIf, what_if_text
from tests.drawn.replayed import MS, section, training
from tests.drawn.timeline import timeline
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.judging import as_read
from tests.truth.simulate.rank_jobs import Declared, run
from tests.truth.simulate.rank_jobs import write as write_ranks


@pytest.fixture
def trace(tmp_path):
    declared = training(section(20, 40_000), loader=Loader(5 * MS))
    (span,) = simulate(declared)
    path = tmp_path / "logs" / "run" / "host_1.pt.trace.json.gz"
    path.parent.mkdir(parents=True)
    write(path, declared, span)
    return path


def whatif(capsys, *arguments):
    code = cli.main(["whatif", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_as_json(capsys, trace):
    code, out, _ = whatif(capsys, trace, "--format", "json")
    (span,) = json.loads(out)["spans"]
    assert (code, span["pace"], span["unexplained"]) == (0, "input", 0)
    step, changes = span["steady_step_ns"], {each["id"]: each for each in span["changes"]}
    assert step - changes["input_bound"]["gain_ns"] == span["sensitivity"]["loader"]
    assert all(each["low_ns"] <= each["gain_ns"] <= each["high_ns"] for each in changes.values())
    after = [each["gain_after_ns"] for each in span["changes"]]
    assert span["combined"][-1]["step_ns"] == step - sum(after)


def test_only_what_is_asked_for(capsys, trace):
    _, out, _ = whatif(capsys, trace, "--apply", "more_workers", "sync_bubble", "--format", "json")
    (span,) = json.loads(out)["spans"]
    assert [each["id"] for each in span["changes"]] == ["more_workers", "sync_bubble"]
    assert span["changes"][1]["gain_ns"] == 0


def test_as_text(capsys, trace):
    code, out, _ = whatif(capsys, trace)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "run · host_1 · span 1")
    assert [line.split("  ")[0] for line in lines if line.startswith("With")] == [
        "Without the host's own time", "With an instant GPU", "Without waits for batches",
        "Without exchanges between ranks", "Without waits of calls for the GPU", "Without host time and GPU work",
    ]  # fmt: skip
    assert any(line.startswith("input_bound") for line in lines)
    (of_replay,) = (place for place, line in enumerate(lines) if line.split() == ["Replayed", "est.", "step", "share"])
    assert lines[of_replay + 1].split()[-2:] == ["100.0", "%"]
    assert lines[2].startswith("Undisturbed step: ")  # measured, so above what is replayed
    assert "input_bound: every batch is ready when the step asks for it." in lines


def test_every_change_and_all_that_a_gain_is_inferred_from_have_words():
    """One change of each kind, whose gain is inferred from all that a gain can be inferred from."""
    declared = training(section(20, 40_000), loader=Loader(5 * MS))
    (span,) = simulate(declared)
    found, inferred_from = what_if(as_read(declared, span)), [*(kind.name.lower() for kind in INFERRED), "observer"]
    gains = [
        msgspec.structs.replace(found.changes[0], id=change, rests_on=inferred_from)
        for change in changes(as_read(declared, span))
    ]
    text = what_if_text(of_span(msgspec.structs.replace(found, changes=gains)))
    assert [line.split(":")[0] for line in text.splitlines() if line.split(":")[0] in CHANGED] == list(CHANGED)
    assert text.count("order of streams, end of blocking calls, cost of the observer") == len(CHANGED)


def test_what_other_ranks_hold_is_said(capsys, tmp_path):
    write_ranks(run(Declared(2, late={1: 6 * MS}, spread_ns=3 * MS, seed=1, waits=True)), tmp_path / "run")
    path = tmp_path / "run" / "rank0_trace.json.gz"
    _, out, _ = whatif(capsys, path, "--format", "json")
    (span,) = json.loads(out)["spans"]
    assert span["for_ranks_ns"] > 2 * MS
    _, out, _ = whatif(capsys, path)
    assert "Its collectives wait for other ranks for" in " ".join(out.split())


def test_the_ranks_of_a_folder_are_replayed_together(capsys, tmp_path):
    """Rank 1 computes 6 ms longer. Without that, a step takes 40 ms plus its transfers."""
    write_ranks(run(Declared(3, late={1: 6 * MS}, waits=True, group_name="ddp")), tmp_path / "run")
    code, out, _ = whatif(capsys, tmp_path, "--format", "json")
    report = json.loads(out)
    (job,) = report["jobs"]
    assert (code, len(report["spans"]), job["run"], job["of_ranks"], job["trusted"]) == (0, 3, "run", [0, 1, 2], True)
    assert job["recorded_step_ns"] == pytest.approx(job["replayed_step_ns"], rel=0.0001)
    late = next(each for each in job["changes"] if each["id"] == "late_ranks")
    assert (late["ranks"], late["gain_ns"]) == ([1], pytest.approx(6 * MS, rel=0.01))
    assert late["step_ns"] + late["gain_ns"] == job["replayed_step_ns"]
    assert ([each["ranks"] for each in job["larger"]], job["larger_unknown"]) == ([6, 12], None)
    assert 0.98 < job["larger"][1]["efficiency"] < job["larger"][0]["efficiency"] < 1
    _, out, _ = whatif(capsys, tmp_path)
    text = " ".join(out.split("The job:")[1].split())
    assert text.startswith("run · 3 ranks · 8 steps The replay of all ranks takes")
    assert "ms with rank 1 as fast as the median of the others: 6.0 ms less." in text
    assert "12 ranks, each with as much to do, take" in text
    (found,) = tb_steptime.open(tmp_path).whatif()
    assert [change.id for change in found.changes] == [change["id"] for change in job["changes"]]


def test_a_run_without_ranks_has_no_job(capsys, trace):
    _, out, _ = whatif(capsys, trace.parent, "--format", "json")
    assert json.loads(out)["jobs"] == []


def test_why_a_replay_is_not_to_be_relied_on(capsys, tmp_path):
    declared = training(section(20, 40_000), loader=Loader(5 * MS))
    (span,) = simulate(declared)
    found = msgspec.structs.replace(what_if(as_read(declared, span)), trusted=False)
    reasons = {
        "nothing recorded explains 30.0 % of the step": {"unexplained": 0.3},
        "30.0 % of the GPU's work has no launch": {"unlinked": 0.3},
        "when it is replayed": {"replayed_step_ns": 2 * found.recorded_step_ns},
        "nothing that can be replayed sets the pace": {"pace": "unknown"},
        "it lacks most of what the recorded steps take": {},
    }
    for sentence, change in reasons.items():
        shown = what_if_text(of_span(msgspec.structs.replace(found, **change)))
        assert "Do not rely on this replay: " in shown and sentence in " ".join(shown.split())
    assert "Do not rely" not in what_if_text(of_span(msgspec.structs.replace(found, trusted=True)))


@pytest.mark.parametrize("op", ["aten::relu", "aten::view"])
def test_a_gain_rests_on_what_observes_each_op(op):
    """60 times a step an op of 21 us, which computes nothing if it is a view, and a launch of 10 us."""
    times, steps, us = 60, 4, 1_000
    observed_ns = times * 21 * us if op == "aten::view" else 0
    found = what_if(
        timeline(
            f"""
            step     | {"".join(str(step) * 33 * times for step in range(steps))} |
            op       | {("v" * 21 + "." * 12) * times * steps} |
            runtime  | {("." * 22 + "k" * 10 + ".") * times * steps} |
            kernel 7 | {("." * 32 + "k") * times * steps} |""",
            names={"v": op},
        )
    )
    (gain,) = found.changes
    assert (gain.id, gain.rests_on) == ("launch_graphs", ["observer"] if observed_ns else [])
    assert (found.observed_ns, gain.high_ns) == (observed_ns, gain.gain_ns)
    assert gain.gain_ns - gain.low_ns == pytest.approx(observed_ns, abs=us)  # the step ends one launch later
    text = " ".join(what_if_text(of_span(found)).split())
    assert ("it takes est. 1.3 ms of a step" in text) is bool(observed_ns)


def of_span(report):
    return SpanWhatIf(
        run="run", worker="host_1", span=1, trace="run/host_1.pt.trace.json", **msgspec.structs.asdict(report)
    )


def test_an_unknown_change_is_refused(capsys, trace):
    code, out, err = whatif(capsys, trace, "--apply", "more_gpus")
    assert (code, out) == (2, "")
    assert "more_gpus" in err
    assert "launch_graphs, " in err
