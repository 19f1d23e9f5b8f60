"""The tests with other releases of Python and of what the package needs, each in an environment of its own.

    pipx run nox               # all, before a release; its table is docs/environments.md
    pipx run nox -s oldest     # one of them

A Python that is not installed is left out, and nox says so. The package and the tab's bundle are built once for each,
with what `make test` builds them with.
"""

from __future__ import annotations

import configparser

import nox
from packaging.requirements import Requirement  # which nox comes with

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
#: torch, with the newest Python and the other packages that it runs with.
TORCHES = {
    "2.0.1": ("3.10", ("numpy<2", "torchdata==0.6.1")),
    "2.4.1": ("3.12", ("numpy<2", "torchdata==0.8.0")),
    "newest": ("3.13", ("torchdata>=0.11",)),
}
#: All but those in a browser, which do not depend on these releases, and those of this repository itself.
TESTS = ("tests/unit", "tests/process", "tests/truth")
RECORDING = (
    "tests/unit/record",
    "tests/unit/ingest/test_recordings.py",
    "tests/process/test_record_demo.py",
    "tests/process/test_record_failures.py",
    "tests/process/test_record_faults.py",
    "tests/process/test_record_loaders.py",
    "tests/process/test_record_profiling.py",
    "tests/process/test_record_stateful.py",
)
#: What TensorBoard does for the package: finding directories, serving, scalars.
BESIDE = (
    "tests/process/test_plugin.py",
    "tests/process/test_store.py",
    "tests/process/test_export.py",
    "tests/process/test_remote.py",
    "tests/process/test_security.py",
)


@nox.session(python="3.10")
def oldest(session: nox.Session) -> None:
    """The oldest releases that setup.cfg admits."""
    session.install("--editable", ".[dev]", "setuptools<81", *_oldest())  # TensorBoard asks for its pkg_resources
    _test(session, *TESTS)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """What pip installs today, with each Python."""
    session.install("--upgrade", "--upgrade-strategy", "eager", "--editable", ".[dev]")
    _test(session, *TESTS)


@nox.session
@nox.parametrize(("python", "torch"), [(python, torch) for torch, (python, _) in TORCHES.items()])
def recorder(session: nox.Session, torch: str) -> None:
    """Real trainings. Nothing but the recorder meets torch."""
    packages = TORCHES[torch][1]
    session.install("torch" if torch == "newest" else f"torch=={torch}", *packages)
    session.install("--editable", ".", "pytest", "pytest-xdist", "hypothesis", *packages)
    _test(session, *RECORDING)


@nox.session(python="3.12")
def stores(session: nox.Session) -> None:
    """Those of Google and Azure, by their emulators; the tests of S3 are among all others."""
    session.install(
        "--editable", ".[dev,gcs,azure]", "gcp-storage-emulator", "setuptools<81"
    )  # it asks for pkg_resources
    emulators = session.create_tmp()
    session.run("npm", "install", "--silent", "--prefix", emulators, "azurite", external=True)
    session.env["PATH"] = f"{emulators}/node_modules/.bin:{session.env['PATH']}"
    session.run("python", "-m", "pytest", "-q", "tests/process/test_remote.py")


@nox.session(python="3.12")
def beside(session: nox.Session) -> None:
    """TensorFlow, with which TensorBoard reads files in another way, and the PyTorch Profiler tab."""
    session.install("--editable", ".[dev,profiler]", "tensorflow")
    _test(session, *BESIDE)


@nox.session(python=PYTHONS)
def elsewhere(session: nox.Session) -> None:
    """What hosted builders run on systems other than Linux on x86-64: rooms of the package and its commands."""
    session.install("--upgrade", "--upgrade-strategy", "eager", "--editable", ".[dev]")
    session.env["PYTHONUTF8"] = (
        "1"  # the tests' own files: `test_elsewhere.py` finds text of the package without encoding
    )
    _test(session, "tests/unit", "tests/process/test_cli.py", "tests/process/test_plugin.py")


@nox.session(python=PYTHONS)
def wheels(session: nox.Session) -> None:
    """The files of a release, and what pip installs from each, far from this folder."""
    session.run("python", "-m", "tools.wheels", session.create_tmp(), "--python", "python")


def _oldest() -> list[str]:
    """`msgspec >= 0.21` -> `msgspec==0.21.*`, of all that the package needs."""
    settings = configparser.ConfigParser()
    settings.read("setup.cfg")
    lines = settings["options"]["install_requires"].strip().splitlines()
    needed = [Requirement(line) for line in lines]
    here = [each for each in needed if each.marker is None or each.marker.evaluate()]
    return [f"{each.name}{str(each.specifier).replace('>=', '==')}.*" for each in here]


def _test(session: nox.Session, *paths: str) -> None:
    session.run("python", "-m", "pip", "list")
    session.run("python", "setup.py", "--quiet", "build_ext", "--inplace")
    session.run("python", "-m", "build_backend.bundle")
    session.run("python", "-m", "pytest", "-q", "-m", "not live", "-n", "auto", "--dist", "loadscope", *paths)
