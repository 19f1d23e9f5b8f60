"""The package's one extension: a reader of plain events in C. Where it cannot be built, Python reads them.

It uses Python's limited API, so that what one Python has built every later one can import.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import Extension

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("tb_steptime/trace/kineto/native")
OLDEST = "cp310"


def extension() -> Extension:
    """Optional: a machine without a compiler or Python's headers gets the package without it."""
    return Extension(
        ".".join((*FOLDER.parts, "_scan")),
        sources=[str(path.relative_to(ROOT)) for path in sources() if path.suffix == ".c"],
        depends=[str(path.relative_to(ROOT)) for path in sources() if path.suffix == ".h"],
        define_macros=[("BUILT_FROM", f'"{sources_hash()}"')],
        libraries=["m"] if os.name == "posix" else [],
        py_limited_api=not sysconfig.get_config_var("Py_GIL_DISABLED"),
        optional=True,
    )


def options() -> dict[str, Any]:
    """Name the wheel after the oldest Python; those without the global lock have no limited API."""
    return {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"bdist_wheel": {"py_limited_api": OLDEST}}


def sources() -> list[Path]:
    return sorted(path for path in (ROOT / FOLDER).iterdir() if path.suffix in (".c", ".h"))


def sources_hash() -> str:
    """By contents, whatever the line ends. `trace/extension.py` names it: what was built of others is not used."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]
