"""In CI, no test that needs torch may be skipped, because a skip there would look like success. A second run leaves out
only tests that have passed before."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import PROJECT
from tests.drawn.dependence import may_say_more

pytest_plugins = ["pytester"]

#: Modules, and in each the tests that may say more where torch or real traces are.
DRAWN = {
    "test_plain": """
        import pytest

        def test_passes():
            '''It names the fixtures of others, and torch.'''

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_of(name):
            if name == "b":
                pytest.skip("not yet")

        NAMES = {"l": "torch.nn.Linear", "s": "examples/record.py(42): forward"}

        def test_of_names():
            NAMES
        """,
    "test_drawn": """
        from tests.fuzz import checks

        def test_draws():
            pass
        """,
    "test_recorder": """
        import pytest
        from tb_steptime.record.file.format import encode_rows
        from tb_steptime.record.profiling import StepProfiler

        def train():
            import torch

        @pytest.fixture
        def trained():
            train()

        class TestRecorder:
            def test_with_torch(self):
                StepProfiler

        class TestFormat:
            def test_without_torch(self):
                encode_rows

        @pytest.mark.usefixtures("trained")
        def test_in_a_fixture():
            pass

        def test_in_a_fixture_that_is_requested(trained):
            pass

        def test_by_a_script():
            script = PROJECT / "examples" / "record_ranks.py"
        """,
    "test_measured": """
        import pytest
        from tests.drawn.real_traces import REAL
        from tests.drawn.timeline import timeline
        from tests.truth import pairs

        NAMES = [name for name in REAL]

        def test_pairs():
            pairs

        def test_in_a_constant():
            NAMES

        def test_by_a_command():
            command = ["-m", "tests.judged"]

        def test_in_a_drawing():
            timeline
        """,
    "test_all_of_it": """
        import os
        from tests.drawn.real_traces import is_there

        if is_there("traces"):
            os.environ["THERE"] = "1"

        def test_anything():
            pass
        """,
}
AGAIN = [
    "test_all_of_it.py::test_anything",
    "test_measured.py::test_by_a_command",
    "test_measured.py::test_in_a_constant",
    "test_measured.py::test_pairs",
    "test_recorder.py::TestRecorder::test_with_torch",
    "test_recorder.py::test_by_a_script",
    "test_recorder.py::test_in_a_fixture",
    "test_recorder.py::test_in_a_fixture_that_is_requested",
]
SAME = [
    "test_drawn.py::test_draws",
    "test_measured.py::test_in_a_drawing",
    "test_plain.py::test_of[a]",
    "test_plain.py::test_of_names",
    "test_plain.py::test_passes",
    "test_recorder.py::TestFormat::test_without_torch",
]


@pytest.mark.live  # `make test` does not need torch, neither in CI nor elsewhere
@pytest.mark.skipif(not os.environ.get("CI"), reason="elsewhere torch is optional; `make torch` installs it")
@pytest.mark.parametrize("module", ["torch", "torchdata", "lightning", "transformers", "accelerate"])
def test_what_the_recorder_is_tested_with_is_here(module):
    assert importlib.util.find_spec(module) is not None, f"{module} is missing; .ci/run installs it with `make torch`"


@pytest.mark.parametrize(("environment", "same"), [({}, False), ({"CI": "true"}, True)])
def test_ci_draws_the_same_in_each_run_and_no_search_ends_because_the_machine_is_slow(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], same: bool
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))  # the drawn tests lie in a folder of their own
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pytester.makepyfile(
        """
        import hypothesis

        def test_settings():
            chosen = hypothesis.settings.default
            print(chosen.derandomize, chosen.deadline, hypothesis.HealthCheck.too_slow in chosen.suppress_health_check)
        """
    )
    done = pytester.runpytest_subprocess("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist", "-s")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines([f"*{same} None True*"])


def test_a_second_run_leaves_out_what_passed_and_needs_neither_torch_nor_real_traces(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    pytester.makepyfile(**DRAWN)
    noted = tmp_path / "passed"
    noted.write_text("".join(f"{name}\n" for name in [*AGAIN, *SAME]))
    shared = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist")
    run = collected(pytester, *shared, f"--leave-passed={noted}")
    assert run == sorted([*AGAIN, "test_plain.py::test_of[b]"])


@pytest.mark.parametrize(("fixture", "more"), [("trace_path", True), ("measured_demo", False)])
def test_fixtures_of_all_tests_are_looked_at_too(fixture: str, more: bool) -> None:
    item = SimpleNamespace(path=Path(__file__), name="test_any", fixturenames=[fixture])
    assert may_say_more(item) is more  # type: ignore[arg-type]


def test_a_run_notes_what_passed(pytester: pytest.Pytester, tmp_path: Path) -> None:
    pytester.makepyfile(test_plain=DRAWN["test_plain"], test_fails="def test_fails():\n    assert False\n")
    noted = tmp_path / "passed"
    shared = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist")
    pytester.runpytest_inprocess(*shared, f"--note-passed={noted}").assert_outcomes(passed=3, skipped=1, failed=1)
    assert noted.read_text().splitlines() == [
        "test_plain.py::test_of[a]",
        "test_plain.py::test_of_names",
        "test_plain.py::test_passes",
    ]


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    """The names of the tests that would run."""
    done = pytester.runpytest_inprocess("--collect-only", "-q", *arguments)
    return sorted(line for line in done.outlines if "::" in line)


@pytest.mark.parametrize(
    ("other", "noted"),
    [
        ("", ["test_chance.py::test_fails"]),
        ("import a_module_that_is_missing", None),
        (
            "import os, pytest\n@pytest.mark.parametrize('each', [os.getpid()])\ndef test_differs(each):\n    pass\n",
            None,
        ),
    ],
    ids=["all ran", "one cannot be imported", "workers collect other tests"],
)
def test_ci_runs_what_failed_again_only_where_all_the_rest_ran(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, other: str, noted: list[str] | None
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    pytester.makepyfile(
        test_chance="""
            def test_fails():
                assert False

            def test_passes():
                pass
            """
    )
    pytester.makepyfile(test_other=other)
    names = pytester.path / "failed"
    pytester.runpytest_subprocess("-p", "tests.conftest", "--numprocesses=2", f"--note-failed={names}")
    assert (names.read_text("utf-8").splitlines() if names.exists() else None) == noted
