"""Real repositories of git, in folders of tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

#: None of the user's settings: neither hooks nor files that are ignored everywhere.
_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_WHO = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")


def git(tree: Path, *arguments: str) -> str:
    """Returns its output."""
    return subprocess.run(
        ["git", *_WHO, *arguments],
        cwd=tree,
        env=os.environ | _SETTINGS,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def commit_all(tree: Path) -> None:
    """Turns a folder into a repository with all its files, except those that its .gitignore names."""
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "all")


def changes(tree: Path) -> list[str]:
    """The output of `git status`, one line each; empty where the working tree is clean."""
    return git(tree, "status", "--porcelain", "--untracked-files=all").splitlines()
