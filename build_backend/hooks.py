"""The hooks that pip calls (PEP 517, PEP 660): setuptools' own, with the tab's bundle built before anything is packed.

The Node wheel is asked for only where the bundle must be built and no suitable Node is on PATH.
"""

from __future__ import annotations

from typing import Any

from setuptools import build_meta

from build_backend import bundle
from build_backend.node import NODE_WHEEL, find_node

Settings = dict[str, Any] | None

prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *node_requirement()]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_sdist(config_settings), *node_requirement()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_editable(config_settings), *node_requirement()]


def build_wheel(directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    build_bundle()
    return build_meta.build_wheel(directory, config_settings, metadata_directory)


def build_sdist(directory: str, config_settings: Settings = None) -> str:
    build_bundle()
    return build_meta.build_sdist(directory, config_settings)


def build_editable(directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    build_bundle()
    return build_meta.build_editable(directory, config_settings, metadata_directory)


def node_requirement() -> list[str]:
    return [] if bundle.is_fresh() or find_node() is not None else [NODE_WHEEL]


def build_bundle() -> None:
    """Build the bundle where needed. SystemExit, because pip prints its text without a traceback around it."""
    try:
        bundle.build_if_stale()
    except bundle.BundleError as error:
        raise SystemExit(f"\n{error}") from None
