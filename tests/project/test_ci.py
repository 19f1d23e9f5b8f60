"""In CI, no test that needs torch may be skipped, because a skip there would look like success. A second run leaves out
only tests that have passed before."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from tests import PROJECT

pytest_plugins = ["pytester"]

#: What `test_draws` says depends neither on torch nor on real traces, in any of these modules.
DRAWN = {
    "test_plain": """
        import pytest

        def test_draws():
            assert "torch.nn.Linear" != "torch.nn.Embedding"

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_of(name):
            if name == "b":
                pytest.skip("not yet")
        """,
    "test_recorder": """
        from tests.fuzz import checks

        def train():
            import torch

        def test_draws():
            assert checks

        def test_records():
            assert train
        """,
    "test_measured": """
        from tests.judged import world
        from tests.judged.labels import Label

        def test_draws():
            assert Label

        def test_judgements():
            assert world
        """,
    "test_of_real_traces": """
        import pytest
        from tests.drawn.real_traces import EVERY, REAL, real_trace

        FIRST = REAL[:1]

        @pytest.fixture
        def first():
            return FIRST

        def test_draws():
            assert real_trace  # without the trace it would be skipped

        @pytest.mark.usefixtures("first")
        def test_first():
            pass

        class TestEach:
            def test_each(self):
                assert all(EVERY)
        """,
}
#: The tests that may say more.
AGAIN = {
    "test_measured.py::test_judgements",
    "test_of_real_traces.py::TestEach::test_each",
    "test_of_real_traces.py::test_first",
    "test_recorder.py::test_records",
}


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
    shared = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist")
    pytester.runpytest_inprocess(*shared, f"--note-passed={noted}").assert_outcomes(passed=9, skipped=1)
    drawn = {f"{module}.py::test_draws" for module in DRAWN}
    assert noted.read_text().split() == sorted({"test_plain.py::test_of[a]"} | drawn | AGAIN)
    again = pytester.inline_run(*shared, f"--leave-passed={noted}")
    run = {report.nodeid for report in again.getreports("pytest_runtest_logreport")}
    assert run == {"test_plain.py::test_of[b]"} | AGAIN


@pytest.mark.parametrize(
    ("other", "workers", "noted"),
    [
        ("", 0, ["test_chance.py::test_fails"]),
        ("import a_module_that_is_missing", 0, None),
        (
            "import os, pytest\n@pytest.mark.parametrize('each', [os.getpid()])\ndef test_differs(each):\n    pass\n",
            2,
            None,
        ),
    ],
    ids=["all ran", "one cannot be imported", "workers collect other tests"],
)
def test_ci_runs_what_failed_again_only_where_all_the_rest_ran(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, other: str, workers: int, noted: list[str] | None
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
    run = pytester.runpytest_subprocess if workers else pytester.runpytest_inprocess
    run("-p", "tests.conftest", f"--numprocesses={workers}", f"--note-failed={names}")
    assert (names.read_text("utf-8").splitlines() if names.exists() else None) == noted
