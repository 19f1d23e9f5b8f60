"""Which code decides what a summary says: what `ingest.measure` imports, and nothing that judges or shows it."""

import ast
import shutil

import pytest

from tb_steptime.ingest.summaries.fingerprint import code_fingerprint, fingerprint_of, measuring_modules
from tests import PROJECT

PACKAGE = PROJECT / "tb_steptime"


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    package = tmp_path_factory.mktemp("copy") / "tb_steptime"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("static", "__pycache__"))
    return package


def changed(package, path):
    """The fingerprint with a comment at the end of one module."""
    source = (package / path).read_text()
    (package / path).write_text(source + "# touched\n")
    try:
        return fingerprint_of(package)
    finally:
        (package / path).write_text(source)


@pytest.mark.parametrize(
    "path",
    [
        "record/frames.py",
        "record/file/format.py",
        "trace/intervals.py",
        "trace/kineto/rows.py",
        "metrics/catalogue.py",
        "metrics/idle/reasons.py",
        "analyses/__init__.py",
        "analyses/timeline.py",
        "text/phrases.py",
        "ingest/measure.py",
        "ingest/recorder_files/reading.py",
    ],
)
def test_what_measures_changes_it(copied, path):
    assert changed(copied, path) != code_fingerprint() == fingerprint_of(copied)


@pytest.mark.parametrize(
    "path",
    [
        "__init__.py",
        "insights/__init__.py",
        "insights/rules/gpu/alignment.py",
        "serve/wire.py",
        "terminal/report.py",
        "timeline/tracks/order.py",
        "record/recorder.py",
        "record/__init__.py",
        "ingest/pool.py",
        "ingest/reader_process.py",
        "ingest/summaries/upgrades.py",
    ],
)
def test_what_judges_or_shows_does_not(copied, path):
    assert changed(copied, path) == code_fingerprint()


def test_it_holds_what_a_parser_finds():
    """Patterns read the imports; here Python's own parser does."""
    found, pending = set(), ["ingest/measure.py"]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += parsed_imports(path)
    assert set(measuring_modules(PACKAGE)) == found


def parsed_imports(path):
    tree = ast.parse((PACKAGE / path).read_text())
    for_types = {id(inner) for block in filter(is_for_types, ast.walk(tree)) for inner in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(name.name.startswith("tb_steptime.") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and id(node) not in for_types:
            parts = (node.module or "").split(".")
            yield from (module_of(parts[1:], name.name) for name in node.names if parts[0] == "tb_steptime")


def is_for_types(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def module_of(parts, name):
    folder = PACKAGE.joinpath(*parts)
    files = folder / f"{name}.py", folder / name / "__init__.py", folder.with_suffix(".py"), folder / "__init__.py"
    return str(next(each for each in files if each.is_file()).relative_to(PACKAGE))


def test_other_told_peaks_are_another_measurement(monkeypatch):
    plain = code_fingerprint.__wrapped__()
    monkeypatch.setenv("TB_STEPTIME_PEAKS", "A10G: half=70 fp32=31.2 memory=600")
    told = code_fingerprint.__wrapped__()
    monkeypatch.setenv("TB_STEPTIME_PEAKS", "A10G: half=70 fp32=31.2 memory=601")
    assert len({plain, told, code_fingerprint.__wrapped__()}) == 3
