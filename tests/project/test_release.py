"""The parts of a release agree: metadata, workflows, templates, the action, the skill, and the page on the index."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from build_backend.description import description, repository, version
from tb_steptime.cli import _apart, _parser
from tests import PROJECT
from tests.drawn.project_copy import BUILDS, Copy
from tools.release import problems, section
from tools.reproducible import differing, digest

WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
#: Programs that a hosted runner has, or that earlier steps install.
PROGRAMS = {"python", "npm", "gh", "make", "cibuildwheel", ".ci/run", ".audited/bin/python"}
#: Python modules of other projects, which an earlier step installs.
INSTALLED = {"pip", "venv", "nox", "pip_audit"}
#: Each action is pinned to a release. A branch could change without notice.
PINNED = re.compile(r"^[\w.-]+/[\w.-]+@v\d+(\.\d+)*$")


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", [])]


def commands_of(workflow: Path) -> list[list[str]]:
    lines = [line for step in steps_of(workflow) for line in step.get("run", "").splitlines()]
    return [shlex.split(re.sub(r"\$\{\{.*?\}\}", "expression", line)) for line in lines if line]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_what_there_is(workflow: Path) -> None:
    commands = commands_of(workflow)
    assert commands
    for command in commands:
        assert command[0] in PROGRAMS, command
        if command[0] == "make":
            assert re.search(rf"^{command[1]}:", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE), command
        if command[0].endswith("python"):
            assert command[1] == "-m" and (command[2] in INSTALLED or module_is_here(command[2])), command
        if command[0].startswith("."):
            assert command[0].startswith(".audited") or os.access(PROJECT / command[0], os.X_OK), command


def module_is_here(name: str) -> bool:
    return (PROJECT / f"{name.replace('.', '/')}.py").is_file()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_released_actions_and_asks_for_few_rights(workflow: Path) -> None:
    used = [step["uses"] for step in steps_of(workflow) if "uses" in step]
    assert [each for each in used if not PINNED.match(each)] == []
    assert yaml.safe_load(workflow.read_text("utf-8"))["permissions"] == {"contents": "read"}
    checkouts = [step for step in steps_of(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(checkouts)


def test_what_one_job_hands_on_is_what_another_takes() -> None:
    """Nothing else checks the names of artifacts until the release runs."""
    release = yaml.safe_load((PROJECT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    assert release["wheels"]["uses"] == "./.github/workflows/wheels.yml"
    assert [release[job].get("needs") for job in ("wheels", "publish", "announce")] == ["check", "wheels", "publish"]
    handed = [step["with"]["name"] for step in steps_of(PROJECT / ".github/workflows/wheels.yml") if is_upload(step)]
    assert handed and all(name.startswith("dist-") for name in handed)


def is_upload(step: dict[str, Any]) -> bool:
    return str(step.get("uses")).startswith("actions/upload-artifact@")


def test_nox_sessions_of_the_workflows_exist() -> None:
    matrix = yaml.safe_load((PROJECT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    rows = matrix["environments"]["strategy"]["matrix"]["include"]
    noxfile = (PROJECT / "noxfile.py").read_text("utf-8")
    for row in rows:
        name, _, python = row["session"].partition("-")
        assert re.search(rf"^def {name}\(", noxfile, re.MULTILINE), row
        assert python in ("", row["python"])
    for row in matrix["recorder"]["strategy"]["matrix"]["include"]:
        assert f'"{row["torch"]}": ("{row["python"]}"' in noxfile, row


def test_templates_and_settings_are_whole() -> None:
    forms = [path for path in (PROJECT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 3
    for form in forms:
        read = yaml.safe_load(form.read_text("utf-8"))
        ids = [field["id"] for field in read["body"]]
        assert read["name"] and read["description"]
        assert all(isinstance(id, str) for id in ids) and len(ids) == len(set(ids))
    contact = yaml.safe_load((PROJECT / ".github/ISSUE_TEMPLATE/config.yml").read_text("utf-8"))
    assert [link["url"] for link in contact["contact_links"]] == [f"{repository()}/security/advisories/new"]
    site = yaml.safe_load((PROJECT / ".readthedocs.yaml").read_text("utf-8"))
    assert (PROJECT / site["sphinx"]["configuration"]).is_file()


def test_citation_names_the_release_and_the_repository() -> None:
    cited = yaml.safe_load((PROJECT / "CITATION.cff").read_text("utf-8"))
    assert (cited["version"], cited["repository-code"]) == (version(), repository())
    settings = configparser.ConfigParser()
    settings.read(PROJECT / "setup.cfg", encoding="utf-8")
    assert settings["metadata"]["license_expression"] == cited["license"], "SPDX: `license` would be free text"


def test_the_page_of_the_index_leads_to_what_the_release_holds() -> None:
    places = re.findall(r"\]\(([^)]+)\)", description())
    own = [place for place in places if place.startswith(repository())]
    assert len(own) > 20 and [place for place in places if not place.startswith("https://")] == []
    for place in own:
        kind, release, path = re.fullmatch(rf"{repository()}/(raw|blob)/([^/]+)/([^#]+)(?:#.*)?", place).groups()  # type: ignore[union-attr]
        assert (PROJECT / path).exists(), place
        assert (kind == "raw", release) == (path.endswith(".png"), f"v{version()}"), place


def test_a_release_needs_tag_version_and_changelog() -> None:
    assert problems("v0.0.1") == [
        f"The tag is v0.0.1, and the version in tb_steptime/__init__.py is {version()}.",
        *problems(f"v{version()}"),
    ]


def test_a_section_of_the_changelog_ends_where_the_next_begins() -> None:
    text = "# Changelog\n\n## Unreleased\n\n## 2.0\n\n- New.\n\n### Tab\n\n- Also.\n\n## 1.0\n\n- First.\n"
    assert [section(text, title) for title in ("Unreleased", "2.0", "1.0", "3.0")] == [
        "",
        "- New.\n\n### Tab\n\n- Also.",
        "- First.",
        "",
    ]


def step_named(name: str) -> dict[str, Any]:
    steps = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    (step,) = [step for step in steps if step["name"] == name]
    return dict(step)


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
@pytest.mark.parametrize("programs", ["bin", "Scripts"])
def test_the_action_installs_where_later_steps_find_the_command(programs: str, tmp_path: Path) -> None:
    """A program in place of Python makes the folders of an environment, as Linux and Windows have them."""
    made = tmp_path / "temporary" / "tb-steptime" / programs
    python = tmp_path / "python3"
    installs = f'#!/bin/sh\necho "$@" > "{tmp_path}/installed"\n'
    python.write_text(
        f"#!/bin/sh\nmkdir -p '{made}'\nprintf '%s' '{installs}' > '{made}/python'\nchmod +x '{made}/python'\n"
    )
    python.chmod(0o755)
    environment = {
        "PACKAGE": "tb-steptime==0.3.0",
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "GITHUB_PATH": str(tmp_path / "paths"),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    command = ["bash", "-e", "-c", step_named("Install tb-steptime")["run"]]
    subprocess.run(command, env=os.environ | environment, check=True)
    assert (tmp_path / "installed").read_text().split() == ["-m", "pip", "install", "--quiet", "tb-steptime==0.3.0"]
    assert (tmp_path / "paths").read_text() == f"{made}\n"


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
@pytest.mark.parametrize(
    ("rules", "strict", "code"),
    [
        ("step_time>+5%\n", "false", 0),
        ("step_time>+5%\nstep_time>1ms\n", "false", 1),
        ("", "false", 0),
        ("step_time>+0.1%", "false", 0),
        ("step_time>+0.1%", "true", 1),
    ],
)
def test_the_action_compares_and_fails_by_its_rules(rules: str, strict: str, code: int, tmp_path: Path) -> None:
    program = tmp_path / "tb-steptime"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tb_steptime.cli "$@"\n')
    program.chmod(0o755)
    step, summary = step_named("Compare"), tmp_path / "summary.md"
    inputs = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))["inputs"]
    assert {re.fullmatch(r"\$\{\{ inputs\.(.+) \}\}", each)[1] for each in step["env"].values()} <= set(inputs)  # type: ignore[index]
    environment = {
        "BASE": str(PROJECT / "demo_logs/cpu_baseline"),
        "CANDIDATE": str(PROJECT / "demo_logs/cpu_num_dataloaders"),
        "FAIL_IF": rules,
        "STRICT": strict,
        "STEPS": "found",
        "GITHUB_STEP_SUMMARY": str(summary),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
    }
    assert set(step["env"]) <= set(environment)
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert summary.read_text("utf-8") == done.stdout
    assert done.stdout.startswith("#") or "|" in done.stdout


def test_bundles_with_other_names_or_contents_differ(tmp_path: Path) -> None:
    texts = {"index.js": "1", "parts/host.js": "2"}
    for folder, changes in {"a": {}, "b": {}, "c": {"index.js": "3"}, "d": {"parts/gpu.js": "2"}}.items():
        for name, text in (texts | changes).items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    found = {other: differing(tmp_path / "a", tmp_path / other) for other in "bcd"}
    assert found == {"b": [], "c": ["index.js"], "d": ["parts/gpu.js"]}
    assert [digest(tmp_path / "a") == digest(tmp_path / other) for other in "bcd"] == [True, False, False]


#: A call of the command in a shell block. A comment or another program may follow it.
_CALL = re.compile(r"^ *(?:\$ )?(tb-steptime [^#|\n]*)", re.MULTILINE)
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    [PROJECT / "README.md", PROJECT / "skills/step-insights/SKILL.md"]
    + [page for page in (PROJECT / "docs").rglob("*.md") if "_build" not in page.parts]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_commands_of_a_page_are_understood(page: Path) -> None:
    """The commands are parsed as they are written, so that no page names an option that does not exist."""
    blocks = _SHELL.findall(page.read_text("utf-8"))
    calls = [call.strip() for block in blocks for call in _CALL.findall(block.replace("\\\n", " "))]
    for call in calls:
        parts = [word for word in shlex.split(call.partition(" ||")[0].partition(" >")[0]) if word != "…"][1:]
        if parts != ["--version"]:
            _parser().parse_args(_apart(parts)[0])


def test_the_skill_says_what_it_is_for() -> None:
    opening = (PROJECT / "skills/step-insights/SKILL.md").read_text("utf-8").split("---\n")[1]
    head = yaml.safe_load(opening)
    assert head["name"] == "step-insights"
    assert 100 < len(head["description"]) < 1024


def test_an_sdist_carries_what_builders_of_other_machines_need(tmp_path: Path) -> None:
    """They need their configuration and the files that test a wheel: cibuildwheel sees only the sdist."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    settings = tomllib.loads((PROJECT / "cibuildwheel.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    named = re.findall(r"\{project\}/(\S+)", settings["test-command"])
    copy = Copy(tmp_path)
    for name in ("tools", "demo_logs", "cibuildwheel.toml"):
        copied = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
        copied(PROJECT / name, copy.root / name)
    copy.has_node(npm=BUILDS)
    sdist = tmp_path / copy.hook(f"build_sdist({str(tmp_path)!r})")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"cibuildwheel.toml", "tools/serve.py", *named} <= inside
    assert any(name.startswith(f"{named[1]}/") and name.endswith(".steptime") for name in inside)
