"""`tb-steptime whatif`: it prints a replayed step as text and as JSON, and refuses unknown changes."""

import json

import pytest

from tb_steptime import cli
from tests.drawn.replayed import MS, section, training
from tests.truth.simulate.causes import Loader
from tests.truth.simulate.chrome import write
from tests.truth.simulate.demo import simulate


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
    said = capsys.readouterr()
    return code, said.out, said.err


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


def test_an_unknown_change_is_refused(capsys, trace):
    code, out, err = whatif(capsys, trace, "--apply", "more_gpus")
    assert (code, out) == (2, "")
    assert "more_gpus" in err
    assert "launch_graphs, " in err
