"""When TensorBoard cannot start, the message says how to solve the problem."""

from __future__ import annotations

import importlib.util
from importlib import metadata

import pytest

from tb_steptime.cli import why_it_cannot_start


@pytest.mark.parametrize(
    ("version", "has_pkg_resources", "starts"),
    [
        ("2.20.0", False, False),
        ("2.16.2", False, False),
        ("2.20.0", True, True),
        ("2.21.0", False, True),
        ("3.0.0a1", False, True),
        (None, False, True),
    ],
)
def test_releases_up_to_2_20_need_pkg_resources(monkeypatch, version, has_pkg_resources, starts):
    def installed(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", installed)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if has_pkg_resources else None)
    sentence = why_it_cannot_start()
    assert (sentence is None) is starts
    assert sentence is None or (
        f"TensorBoard {version} cannot start" in sentence and "pip install 'setuptools<82'" in sentence
    )
