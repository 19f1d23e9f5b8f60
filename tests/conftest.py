"""What all tests share: fixtures, profiles of Hypothesis, and the closing lines."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

pytest.register_assert_rewrite("tests.drawn")

from tests.drawn.machine import BUSY, NO_BROWSER, skipped_if_busy  # noqa: E402
from tests.drawn.real_traces import WAITS, how_to_get, real_trace  # noqa: E402
from tests.says_more import may_say_more  # noqa: E402

#: What is drawn has to be right, however slow the machine is just now. `make test` draws few examples, which are others
#: in each run; `.ci/run` draws more, and `make test-all` most. CI draws the same in each run, so that no change is
#: blamed for what a developer's run would find as well.
for _profile, _examples in (("quick", 25), ("thorough", 50), ("deep", 400)):
    hypothesis.settings.register_profile(
        _profile,
        deadline=None,
        max_examples=_examples,
        derandomize="CI" in os.environ,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("quick")


BROWSER_TESTS = "tests/browser/"

#: New containers between two collections of garbage, ten times as many as usual.
GARBAGE_EVERY = 10_000


def pytest_configure() -> None:
    """A shell that starts the tests in the background makes them ignore Ctrl+C, and so would each command that a test
    starts and interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The tests themselves are never garbage: none is searched for while they are collected, and they are left out of
    each collection of garbage, which saves a sixth of all computing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(GARBAGE_EVERY, *gc.get_threshold()[1:])
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """All browser tests run in one worker: each further one would start a browser and servers of its own, and compile
    TensorBoard's page once more. Other tests stay together by module, as without this."""
    from xdist.scheduler import LoadScopeScheduling

    class OneBrowser(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER_TESTS if nodeid.startswith(BROWSER_TESTS) else super()._split_scope(nodeid)

    return OneBrowser(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """`.ci/run` runs all tests twice, first without torch and real traces, and then nothing for the second time that
    they make no difference to."""
    group = parser.getgroup("what passed before")
    group.addoption("--note-passed", type=Path, metavar="FILE", help="write the names of the tests that passed there")
    group.addoption("--note-failed", type=Path, metavar="FILE", help="write the names of the tests that failed there")
    group.addoption(
        "--leave-passed",
        type=Path,
        metavar="FILE",
        help="leave out the tests whose names are there, but those that may say more where torch or real traces are",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if noted := config.getoption("leave_passed"):
        passed = set(noted.read_text("utf-8").splitlines())
        left_out = {item for item in items if item.nodeid in passed and not _may_say_more(item)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _may_say_more(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    test = item.cls.__name__ if item.cls else item.originalname
    return may_say_more(item.path, test, frozenset(item.fixturenames))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    with skipped_if_busy():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode) -> Generator[None]:
    """Above the closing line: what did not run although it was asked for. Tests that wait for real traces have one line
    together and none of their own."""
    _note(terminalreporter, "note_passed", "passed")
    if (
        exitstatus == pytest.ExitCode.TESTS_FAILED
    ):  # All ran: none was interrupted, and no module could not be imported.
        _note(terminalreporter, "note_failed", "failed", "error")
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [str(report.longrepr) for report in skipped]
    reports = [report for report, why in zip(skipped, reasons, strict=True) if WAITS not in why]
    if skipped:
        terminalreporter.stats["skipped"] = reports
    try:
        return (yield)
    finally:
        if skipped:
            terminalreporter.stats["skipped"] = skipped
        for count, what in (
            (sum(BUSY in why for why in reasons), f"skipped because {BUSY}"),
            (sum(NO_BROWSER in why for why in reasons), f"SKIPPED: {NO_BROWSER}"),
        ):
            if count:
                terminalreporter.write_line(f"{count} {what}", yellow=True, bold=True)
        if line := how_to_get(reasons):
            terminalreporter.write_line(line, yellow=True, bold=True)


def _note(terminalreporter: pytest.TerminalReporter, option: str, *outcomes: str) -> None:
    if noted := terminalreporter.config.getoption(option):
        names = {report.nodeid for outcome in outcomes for report in terminalreporter.stats.get(outcome, [])}
        if all("::" in name for name in names):  # a worker that collected other tests than the first one ran none
            noted.write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")


@pytest.fixture(scope="session")
def trace_path() -> Callable[[str], Path]:
    """Path of the real trace of that name; where it is missing the test is skipped."""
    return real_trace


@pytest.fixture(scope="session")
def measured_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with all demo recordings and their summaries, made once for all workers. Nobody writes to it."""
    from tests.drawn import demo

    def make(folder: Path) -> None:
        demo.measure_all(demo.copy_demo(folder))

    return once("demo_logs", tmp_path_factory, make)


def once(name: str, tmp_path_factory: pytest.TempPathFactory, make: Callable[[Path], None]) -> Path:
    """The folder `name`, which the first worker of pytest-xdist makes, and for which the others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / name).exists():
            make(shared / f"{name}.unfinished")
            (shared / f"{name}.unfinished").rename(shared / name)
    return shared / name


@pytest.fixture
def drawn_in_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn in letters of a microsecond each has no room for costs of a millisecond: to take a batch from a
    worker costs nothing. A test of that cost sets it."""
    from tb_steptime.insights.rules.data_loading import late_batches, loader_waits
    from tb_steptime.metrics.data_loading import throughput

    monkeypatch.setattr(throughput, "HANDOVER_NS", 0)
    monkeypatch.setattr(late_batches, "HANDOVER_NS", 0)
    monkeypatch.setattr(loader_waits, "RECEIVING_NS", 0)


@pytest.fixture
def at_once(tmp_path, monkeypatch):
    """No cache of the user, no waiting for files to settle, no scan older than a moment, no import in each reader."""
    from tb_steptime.ingest import reader_process
    from tb_steptime.serve import directory, reading, store
    from tests.drawn import forked_readers

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if sys.platform == "linux":
        monkeypatch.setattr(reader_process, "start", forked_readers.start)
    monkeypatch.setattr(reading, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(reading, "WHOLE_SECONDS", 0.0)
    monkeypatch.setattr(directory, "SCAN_SECONDS", 0.0)
    monkeypatch.setattr(directory, "SCAN_SHARE", 1e9)
    monkeypatch.setattr(directory, "SCAN_PATIENCE_SECONDS", 10.0)
    monkeypatch.setattr(store, "POLL_PATIENCE_SECONDS", 10.0)
