"""Temporary folders and files are removed by their process, or by the next process if theirs was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from stat import S_IMODE

import pytest

from tb_steptime.files import temporary as files_temporary
from tb_steptime.files.paths import write_atomically
from tb_steptime.files.temporary import OwnFolder, atomic_file, remove_left_folders

pytestmark = pytest.mark.skipif(files_temporary.fcntl is None, reason="Windows keeps the names of files that are open")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed(script: str, folder: Path) -> None:
    """Runs a process that is killed at the end of its script."""
    end = f"import os; {script}; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    done = subprocess.run([sys.executable, "-c", end], env=os.environ | {"TMPDIR": str(folder)})
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_left_goes_and_what_others_use_stays(temporary):
    killed(
        "from tb_steptime.files.temporary import OwnFolder; (OwnFolder('events').path / 'a').write_text('a')",
        temporary,
    )
    (left,) = temporary.iterdir()
    in_use = OwnFolder("events")
    assert S_IMODE(in_use.path.stat().st_mode) == 0o700
    (temporary / "tb_steptime.of_an_older_release").mkdir()
    (temporary / "tb_steptime-0.3.0").mkdir()  # an unpacked release
    (temporary / "tb_steptime-temporary-a_file").write_text("")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (temporary / "tb_steptime-temporary-a_link").symlink_to(elsewhere)
    remove_left_folders()
    assert not left.exists()
    assert {path.name for path in temporary.iterdir()} == {
        in_use.path.name,
        "tb_steptime.of_an_older_release",
        "tb_steptime-0.3.0",
        "tb_steptime-temporary-a_file",
        "tb_steptime-temporary-a_link",
        "elsewhere",
    }
    in_use.remove()
    in_use.remove()
    assert not in_use.path.exists()


def test_it_goes_with_its_process(temporary):
    script = "from tb_steptime.files.temporary import OwnFolder; OwnFolder('events')"
    subprocess.run([sys.executable, "-c", script], env=os.environ | {"TMPDIR": str(temporary)}, check=True)
    assert list(temporary.iterdir()) == []


def test_the_next_file_takes_what_a_killed_writer_left(tmp_path):
    place = tmp_path / "a.steptime"
    killed(
        "from pathlib import Path; from tb_steptime.files.temporary import atomic_file; "
        f"w = atomic_file(Path({str(place)!r}), '.steptime'); w.__enter__().write(b'half')",
        tmp_path,
    )
    (left,) = tmp_path.iterdir()
    (tmp_path / f".{'0' * 16}.json.tmp").write_text("of somebody else")
    with atomic_file(tmp_path / "b.steptime", ".steptime") as being_written:
        write_atomically(place, b"whole", ".steptime")
        being_written.write(b"b")
    assert not left.exists()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.steptime": "whole",
        "b.steptime": "b",
        f".{'0' * 16}.json.tmp": "of somebody else",
    }


def test_a_new_file_that_another_process_takes_for_a_left_one_has_another_name(tmp_path, monkeypatch):
    took = []

    def hold_second(file: int) -> bool:
        took.append(file)
        return len(took) > 1

    monkeypatch.setattr("tb_steptime.files.temporary.hold", hold_second)
    with atomic_file(tmp_path / "a") as file:
        file.write(b"a")
    assert len(took) == 2
    assert (tmp_path / "a").read_bytes() == b"a"


def test_where_there_are_no_locks_nothing_of_others_is_removed(temporary, monkeypatch):
    left = temporary / "tb_steptime-temporary-events.12345678"
    left.mkdir()

    def without(file: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files_temporary.fcntl, "flock", without)
    own = OwnFolder("events")
    remove_left_folders()
    assert left.exists()
    assert own.path.exists()
    own.remove()
