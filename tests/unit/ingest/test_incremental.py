"""Repeated scans: whatever happened to the files, a later scan finds what a first scan would find."""

import os
import random
import stat
import time
from types import SimpleNamespace

import pytest

from tb_steptime.ingest import listing
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.names import Place

TRACE, OTHER = '{"schemaVersion": 1, "traceEvents": []}', '{"name": "x"}'
NAMES = ("a.1.pt.trace.json", "a.2.pt.trace.json.gz", "own.json", "a.1.pt.trace.json.steptime", "a.l0.main.loader", "x")
FOLDERS = ("", "run", "run/deep", "other")
#: Replaces a constant of seconds so that the test need not wait; longer than a tick of the clock that dates files. On a
#: busy virtual machine that clock has been seen to stand still for 13 ms.
COARSE_SECONDS = 0.02


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "COARSE_NS", int(COARSE_SECONDS * 1e9))
    return tmp_path / "logs"


def settle(logs):
    """Waits until what changes from now on has a later date by the clock that dates files."""
    clock = logs.with_name("clock")

    def now():
        clock.write_bytes(b"")
        return clock.stat().st_mtime_ns

    begun = now()
    while now() - begun <= 1.2e9 * COARSE_SECONDS:
        time.sleep(0.002)


def places(logs):
    return [Place("", logs, "logs")]


def create(logs, dice):
    folder = logs / dice.choice(FOLDERS)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / dice.choice(NAMES)).write_text(dice.choice([TRACE, OTHER, OTHER.replace("x", "y"), TRACE + " "]))


def delete(logs, dice):
    some_file(logs, dice).unlink()


def rename(logs, dice):
    file = some_file(logs, dice)
    file.rename(file.with_name(dice.choice(NAMES)))


def move_folder(logs, dice):
    folder = some_folder(logs, dice)
    folder.rename(folder.with_name(f"moved{dice.randrange(2)}.{dice.randrange(9**9)}"))


def replace_in_place(logs, dice):
    """The new content has the same length, so that only the time shows the change."""
    file = some_file(logs, dice)
    file.write_text(file.read_text()[::-1])


def replace_and_touch_back(logs, dice):
    """Neither the size nor the time shows the change: it is another file under the same name."""
    file = some_file(logs, dice)
    old, other = file.stat(), file.with_name("new")
    other.write_text(file.read_text()[::-1])
    other.replace(file)
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))


def touch_back(logs, dice):
    for each in (some_file(logs, dice), some_folder(logs, dice)):
        os.utime(each, ns=(10**18, 10**18 + dice.randrange(2)))


def link(logs, dice):
    target = some_folder(logs, dice)
    (logs / f"link{dice.randrange(3)}").unlink(missing_ok=True)
    (logs / f"link{dice.randrange(3)}").symlink_to(target)


def move_what_a_link_leads_to(logs, dice):
    (logs / "run" / "own.json").unlink()
    (logs / "run" / "own.json").symlink_to(some_file(logs, dice))


def some_file(logs, dice):
    return dice.choice(sorted(each for each in logs.rglob("*") if each.is_file() and not each.is_symlink()))


def some_folder(logs, dice):
    return dice.choice(sorted(each for each in logs.rglob("*") if each.is_dir() and not each.is_symlink()))


OPERATIONS = (create, create, delete, rename, move_folder, replace_in_place, replace_and_touch_back, touch_back, link,
              move_what_a_link_leads_to)  # fmt: skip


def change(logs, dice):
    """Runs one operation; if there is nothing to apply it to, a file is created instead."""
    try:
        dice.choice(OPERATIONS)(logs, dice)
    except (OSError, IndexError):
        create(logs, dice)


@pytest.mark.parametrize("seed", range(6))
def test_a_later_scan_finds_what_a_first_one_would(logs, seed):
    dice = random.Random(seed)
    logs.mkdir()
    again = Discovery(places(logs))
    for _ in range(25):
        for _ in range(dice.randrange(1, 4)):
            change(logs, dice)
        if dice.random() < 0.7:
            settle(logs)
        assert again.scan() == Discovery(places(logs)).scan()


def test_quiet_folders_of_a_large_tree_are_looked_at_in_turn(logs, monkeypatch):
    """A file that is replaced in place in such a folder is noticed after a few scans."""
    monkeypatch.setattr(listing, "EVERY_SCAN", 1)
    monkeypatch.setattr(listing, "QUIET_NS", 0)
    monkeypatch.setattr(listing, "RELIST_TURNS", 10**9)
    for run in range(20):
        create_run(logs, run)
    settle(logs)
    again = Discovery(places(logs))
    again.scan()
    settle(logs)
    for run in range(20):
        (logs / f"r{run}" / NAMES[0]).write_text(TRACE + "more")
    scans = [again.scan() for _ in range(listing.MOST_TURNS)]
    seen = [sum(span.bytes > len(TRACE) for span in scan.spans) for scan in scans]
    assert seen == sorted(seen)
    assert seen[0] < 10
    assert seen[-1] == 20
    assert again.scan() == Discovery(places(logs)).scan()


def test_where_folders_tell_no_times_each_is_listed_in_its_turn(logs, monkeypatch):
    """A file system over an object store behaves like this."""
    look = os.stat

    def without_times(path, **keys):
        found = look(path, **keys)
        if not stat.S_ISDIR(found.st_mode):
            return found
        return SimpleNamespace(st_dev=found.st_dev, st_ino=found.st_ino, st_mtime_ns=0, st_ctime_ns=0)

    monkeypatch.setattr(listing.os, "stat", without_times)
    for run in range(5):
        create_run(logs, run)
    again = Discovery(places(logs))
    again.scan()
    for run in range(5):
        (logs / f"r{run}" / "late.1.pt.trace.json").write_text(TRACE)
    found = [len(again.scan().spans) for _ in range(listing.RELIST_TURNS)]
    assert found[-1] == 10
    assert again.scan() == Discovery(places(logs)).scan()


def test_what_did_not_change_is_neither_listed_nor_made_again(logs, monkeypatch):
    monkeypatch.setattr(listing, "RELIST_TURNS", 10**9)
    for run in range(3):
        create_run(logs, run)
    settle(logs)
    again = Discovery(places(logs))
    first = again.scan()
    monkeypatch.setattr(os, "scandir", lambda path: pytest.fail(f"{path} is listed again"))
    assert again.scan() is first


def test_after_a_pause_everything_is_listed_again(logs, monkeypatch):
    monkeypatch.setattr(listing, "RELIST_TURNS", 10**9)
    create_run(logs, 0)
    settle(logs)
    again = Discovery(places(logs))
    again.scan()
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    monkeypatch.setattr(listing, "WHOLE_SECONDS", 0.0)
    again.scan()
    assert len(listed) == 2


def create_run(logs, run):
    folder = logs / f"r{run}"
    folder.mkdir(parents=True)
    (folder / NAMES[0]).write_text(TRACE)
