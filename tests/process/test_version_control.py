"""Summaries of traces in a repository: no committed file changes unless the user asks for it."""

import pytest

from tb_steptime import cli
from tb_steptime.ingest import read_one
from tb_steptime.ingest.summaries import SUFFIX, fresh_summary, writing
from tb_steptime.ingest.summaries.writing import places_for
from tests.drawn.repositories import changes, commit_all, git, needs_git
from tests.drawn.small_trace import write_trace

pytestmark = [needs_git, pytest.mark.usefixtures("at_once")]

NAME = "host.1.pt.trace.json.gz"


@pytest.fixture
def project(tmp_path):
    """A repository with a committed trace, one in an ignored folder, and one that nobody has added yet."""
    project = tmp_path / "project"
    write_trace(project / "committed" / NAME)
    (project / ".gitignore").write_text("logs/\n")
    commit_all(project)
    write_trace(project / "logs" / "run" / NAME)
    write_trace(project / "new" / NAME)
    return project


def read(trace, *options):
    """Read the trace as the tab does, and return the path of its summary."""
    return read_one._summary(trace, trace.parent / "nowhere", lambda _: None, frozenset(options))


def test_a_committed_trace_has_its_summary_in_the_cache(project):
    before = changes(project)
    trace = project / "committed" / NAME
    assert read(trace) == places_for(trace)[1]
    assert fresh_summary(trace).results.path == places_for(trace)[1]
    assert changes(project) == before == [f"?? new/{NAME}"]


@pytest.mark.parametrize("folder", ["logs/run", "new"])
def test_a_trace_that_is_ignored_or_new_has_its_summary_beside_it(project, folder):
    trace = project / folder / NAME
    assert read(trace) == trace.with_name(NAME + SUFFIX)
    assert fresh_summary(trace).results.path == trace.with_name(NAME + SUFFIX)


def test_a_committed_summary_of_other_definitions_stays_as_it_is(project, monkeypatch):
    trace = project / "committed" / NAME
    with monkeypatch.context() as before:
        before.setattr(writing, "DEFINITIONS", 0)
        read(trace, read_one.BY_COMMAND)
    commit_all(project)
    assert fresh_summary(trace) is None
    content = trace.with_name(NAME + SUFFIX).read_bytes()
    assert read(trace) == places_for(trace)[1]
    assert fresh_summary(trace).results.path == places_for(trace)[1]
    assert trace.with_name(NAME + SUFFIX).read_bytes() == content
    assert changes(project) == []


def test_a_summary_that_is_committed_without_its_trace_stays_as_it_is(project):
    trace = project / "logs" / "run" / NAME
    beside = read(trace)
    git(project, "add", "--force", str(beside))
    git(project, "commit", "--quiet", "--message", "the summary alone")
    before = changes(project)
    write_trace(trace, steps=4)
    assert read(trace) == places_for(trace)[1]
    assert fresh_summary(trace).facts.step_count == 4
    assert changes(project) == before


def test_who_asks_for_summaries_by_a_command_has_them_beside_their_traces(project, capsys):
    assert cli.main(["index", str(project / "committed")]) == 0
    assert capsys.readouterr().out.splitlines() == ["1 summary file written, 0 up to date, 0 failed"]
    trace = project / "committed" / NAME
    assert fresh_summary(trace).results.path == trace.with_name(NAME + SUFFIX)
    assert f"?? committed/{NAME}{SUFFIX}" in changes(project)
