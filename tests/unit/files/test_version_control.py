"""Which files git tracks, as its index alone shows; compared with real repositories."""

import pytest

from tb_steptime.files.version_control import is_any_tracked
from tests.drawn.repositories import git, needs_git

pytestmark = needs_git

TRACKED = ["a.json", "logs/run/host.1.json", "logs/run/ünïcode name.json", f"{'deep/' * 40}host.1.json"]
IGNORED = ["ignored/host.1.json", "logs/run/host.2.json.log"]
NEW = ["run/host.1.json", "host.1.json", "logs/run/host.1", "logs/run/host.2.json"]


def write(tree, names):
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)


@pytest.fixture
def tree(tmp_path):
    """A repository with tracked, ignored and new files."""
    tree = tmp_path / "project"
    write(tree, [*TRACKED, *IGNORED, *NEW])
    (tree / ".gitignore").write_text("ignored/\n*.log\n")
    git(tree, "init", "--quiet")
    git(tree, "add", ".gitignore", *TRACKED)
    git(tree, "commit", "--quiet", "--message=first")
    return tree


def tracked_in(tree):
    return [name for name in (*TRACKED, *IGNORED, *NEW) if is_any_tracked(tree / name)]


def test_only_what_git_tracks_is_tracked(tree):
    assert tracked_in(tree) == TRACKED
    assert is_any_tracked(tree / "logs/run/new.json", tree / "logs/run/host.1.json")


def test_a_file_that_was_added_or_is_gone_is_tracked(tree):
    git(tree, "add", NEW[0])
    (tree / TRACKED[0]).unlink()
    assert tracked_in(tree) == [*TRACKED, NEW[0]]
    git(tree, "rm", "--quiet", "--cached", TRACKED[0])
    assert tracked_in(tree) == [*TRACKED[1:], NEW[0]]


def test_a_path_with_more_flags_is_known(tree):
    git(tree, "add", "--intent-to-add", NEW[2])
    assert b"DIRC\0\0\0\3" in (tree / ".git/index").read_bytes()
    assert tracked_in(tree) == [*TRACKED, NEW[2]]


def test_an_index_that_is_split_is_read_whole(tree):
    git(tree, "update-index", "--split-index")
    git(tree, "add", NEW[0])
    assert list((tree / ".git").glob("sharedindex.*"))
    assert tracked_in(tree) == [*TRACKED, NEW[0]]


def test_a_linked_working_tree_has_an_index_of_its_own(tree):
    linked = tree.parent / "linked"
    git(tree, "worktree", "add", "--quiet", str(linked))
    write(linked, NEW)
    git(linked, "add", NEW[0])
    assert tracked_in(linked) == [*TRACKED, NEW[0]]
    assert tracked_in(tree) == TRACKED


def test_a_folder_that_is_reached_by_a_link_is_the_one_that_it_leads_to(tree):
    (tree.parent / "elsewhere").symlink_to(tree / "logs" / "run")
    assert is_any_tracked(tree.parent / "elsewhere" / "host.1.json")
    assert not is_any_tracked(tree.parent / "elsewhere" / "host.2.json")


def test_a_repository_without_a_file_tracks_none(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert not is_any_tracked(tmp_path / "logs" / "host.1.json")


def test_outside_of_repositories_nothing_is_tracked(tmp_path):
    assert not is_any_tracked(tmp_path / "logs" / "host.1.json")


def test_where_it_cannot_be_told_a_file_is_taken_as_tracked(tree):
    git(tree, "update-index", "--index-version=4")
    assert tracked_in(tree) == [*TRACKED, *IGNORED, *NEW]
    (tree / ".git" / "index").write_bytes(b"damaged")
    assert is_any_tracked(tree / NEW[0])


@pytest.mark.parametrize("records", [".hg", ".jj", ".svn"])
def test_other_systems_are_not_asked(tmp_path, records):
    (tmp_path / records).mkdir()
    assert is_any_tracked(tmp_path / "logs" / "host.1.json")


def test_a_repository_of_git_that_another_system_works_on_is_git_s(tree):
    (tree / ".jj").mkdir()
    assert tracked_in(tree) == TRACKED


def test_the_nearest_working_tree_decides(tree):
    """The inner one is like a submodule or a clone within another working tree."""
    inner = tree / "logs"
    git(inner, "init", "--quiet")
    assert not is_any_tracked(inner / "run" / "host.1.json")
