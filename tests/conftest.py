"""Where the real traces are. They are other projects' files and not part of this one; tests that need them skip."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

#: What is drawn has to be right, however slow the machine is just now.
hypothesis.settings.register_profile("whatever it takes", deadline=None)
hypothesis.settings.load_profile("whatever it takes")

_BESIDE_THE_CHECKOUT = Path(__file__).parents[1] / ".." / "shared"
SHARED = Path(os.environ.get("TB_STEPTIME_SHARED", _BESIDE_THE_CHECKOUT)).resolve()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with `traces/` and `reference/`."""
    if not (SHARED / "traces").is_dir():
        pytest.skip(f"no real traces at {SHARED}; TB_STEPTIME_SHARED names their folder")
    return SHARED


@pytest.fixture(scope="session")
def trace_path(shared: Path) -> Callable[[str], Path]:
    """Path of the trace `name`: a path within `traces/`, or a folder there that holds one file."""

    def find(name: str) -> Path:
        path = shared / "traces" / name
        if path.is_dir():
            (path,) = sorted(file for file in path.iterdir() if ".json" in file.name)
        if not path.exists():
            pytest.skip(f"no {name} among the real traces at {shared}")
        return path

    return find


@pytest.fixture
def at_once(tmp_path, monkeypatch):
    """No cache of the user, no waiting for files to settle, no look older than a moment."""
    from tb_steptime.serve import store

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(store, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(store, "LOOK_SHARE", 1e9)
    monkeypatch.setattr(store, "LOOK_PATIENCE_SECONDS", 10.0)
