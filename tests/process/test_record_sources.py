"""The source files that the recorder saves beside its traces, and what the commands and the tab make of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest

from tb_steptime.ingest.sources import recorded_sources

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from tb_steptime.record import profile_steps  # noqa: E402
from tb_steptime.record import sources as written  # noqa: E402

NET = "def forward(x):\n    return x.square().sum()\n"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A user's package with one module, another module that is loaded later, and an installed module."""
    folder = tmp_path / "job"
    for name in ("own_net.py", "own_late.py", "site-packages/installed_net.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(NET)
    for path in (folder, folder / "site-packages"):
        monkeypatch.syspath_prepend(path)
    yield folder
    for name in ("own_net", "own_late", "installed_net"):
        sys.modules.pop(name, None)


def train(folder, steps=4, **options):
    import installed_net  # type: ignore[import-not-found]
    import own_net  # type: ignore[import-not-found]

    with profile_steps(folder, skip_first=0, wait=0, warmup=1, active=2, repeat=1, **options) as prof:
        for step in range(steps):
            own_net.forward(installed_net.forward(torch.ones(2)))
            if step == 1:
                import own_late  # type: ignore[import-not-found]  # noqa: F401
            prof.step()


def kept(folder):
    (trace,) = folder.glob("*.pt.trace.json.gz")
    return recorded_sources(trace, int(trace.name.split(".")[-5]))


def test_the_jobs_own_files_are_written_as_they_were_when_recording_began(tmp_path, job, monkeypatch):
    # What other tests have loaded counts as files of this process, too.
    for limit in ("MOST_FILES", "MOST_BYTES"):
        monkeypatch.setattr(written, limit, 10**9)
    import own_net  # type: ignore[import-not-found]

    logs = tmp_path / "logs"
    with profile_steps(logs, skip_first=0, wait=0, warmup=1, active=2, repeat=1, sources=True) as prof:
        (job / "own_net.py").write_text("edited = True")
        for _ in range(4):
            own_net.forward(torch.ones(2))
            importlib.import_module("own_late")
            prof.step()
    found = kept(logs)
    assert {name: found[name] for name in ("own_net.py", "own_late.py")} == {"own_net.py": NET, "own_late.py": NET}
    assert not any("installed_net" in name or name.startswith(("/", "torch", "tb_steptime")) for name in found)
    assert {str(tmp_path), sys.prefix}.isdisjoint(found)


def test_unasked_nothing_is_written(tmp_path, job):
    train(tmp_path / "logs")
    assert list((tmp_path / "logs").glob(f"*{written.SUFFIX}")) == []


def test_what_is_too_large_or_no_text_is_left_out(tmp_path, job, monkeypatch):
    (job / "own_late.py").write_bytes(b"# coding: nothing\n")
    monkeypatch.setattr(written, "MOST_FILE_BYTES", len(NET))
    spec = importlib.util.spec_from_file_location("own_late", job / "own_late.py")
    monkeypatch.setitem(sys.modules, "own_late", importlib.util.module_from_spec(spec))
    monkeypatch.setitem(sys.modules, "odd", None)
    train(tmp_path / "logs", sources=True)
    found = kept(tmp_path / "logs")
    assert found["own_net.py"] == NET
    assert "own_late.py" not in found
    assert all(len(text.encode()) <= len(NET) for text in found.values())


def test_a_disk_without_room_is_said_and_the_training_goes_on(tmp_path, job, monkeypatch, caplog):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(written.gzip, "compress", full)
    train(tmp_path / "logs", sources=True)
    assert [record.message.split(" to ")[0] for record in caplog.records if "sources" in record.message] == [
        "The sources were not written"
    ]
    assert len(list((tmp_path / "logs").glob("*.pt.trace.json.gz"))) == 1
