"""The documentation names only what exists, and omits nothing that the code defines. `make docs` builds it."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from tb_steptime.insights.questions import QUESTIONS
from tb_steptime.insights.rules import RULES
from tb_steptime.insights.rules.ranks import JOB_RULES
from tb_steptime.record import profile_steps
from tb_steptime.serve.catalogue import catalogue
from tests import PROJECT
from tools.docs import cards, figures, markdown, offline
from tools.docs.cards import card_ids, examples, named_cards
from tools.docs.extension import MARKER, filled
from tools.docs.markdown import paragraphs

README_LINES = 150
PICTURE_BYTES = 250_000

WRITTEN = sorted(
    [PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "demo_logs/README.md")]
    + [page for page in (PROJECT / "docs").rglob("*.md") if "_build" not in page.parts]
)
#: The folders to which a path in a text may be relative: the checkout, or the package.
ROOTS = (PROJECT, PROJECT / "tb_steptime")
#: A relative path with at least one slash.
PATH = re.compile(r"^(?:[\w.<>*-]+/)+[\w.<>*-]*$")
#: Paths that a command or the reader creates.
MADE = ("dist/", "docs/_build", "test-artifacts", "logs/", "rank_3/")
FENCED = re.compile(r"^(```|:::).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@pytest.fixture(params=WRITTEN, ids=name_of)
def page(request) -> Path:
    return request.param


def test_readme_is_short():
    assert len((PROJECT / "README.md").read_text().splitlines()) <= README_LINES


def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", CODE.sub("`code`", FENCED.sub("", page.read_text())))
    local = [link for link in links if not re.match(r"https?:", link)]
    assert [link for link in local if not leads_somewhere(link, page)] == []


def leads_somewhere(link: str, page: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target)


def anchors(page: Path) -> set[str]:
    """The anchors that a code host and the site generate for headings, including the headings of generated parts."""
    text = filled(page.read_text())
    heads = re.findall(r"^#{1,3} (.+)$", FENCED.sub("", text), re.MULTILINE)
    named = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads} | set(named)


def test_paths_exist(page):
    quoted = re.findall(r"`([^`\n]+)`", FENCED.sub("", page.read_text()))
    paths = [text for text in quoted if PATH.match(text) and not text.startswith(MADE)]
    assert [path for path in paths if not is_here(path)] == []


def is_here(path: str) -> bool:
    """Whether a path exists. In it, `<name>` and `*` stand for any name."""
    pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
    return any(next(root.glob(pattern), None) for root in ROOTS)


def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    code = re.findall(r"`([^`\n]+)`|^(make .*)$", page.read_text(), re.MULTILINE)
    calls = [found for pair in code for text in pair if (found := re.match(r"make ([a-z -]+)", text))]
    named = {word for call in calls for word in call[1].split()}
    assert named - targets == set()


def test_modules_that_are_called_exist(page):
    modules = re.findall(r"python -m ([\w.]+)", page.read_text())
    assert [module for module in modules if not is_here(module.replace(".", "/") + "*")] == []


def test_every_figure_is_defined_on_the_page_of_figures():
    shown, text = catalogue(), filled((PROJECT / "docs/figures.md").read_text())
    defined = [*shown.metrics, *shown.figures, *shown.parts, *shown.idle_reasons]
    assert [each.id for each in defined if f"`{each.id}`" not in text or each.label not in text] == []
    assert [id for id in shown.reasons if f"`{id}`" not in text] == []


def test_every_view_has_a_page():
    assert {page.stem for page in (PROJECT / "docs/views").glob("*.md")} == {view.id for view in catalogue().views}


def test_every_card_is_explained_once():
    pages = "\n".join(page.read_text() for page in (PROJECT / "docs/views").glob("*.md"))
    names = [marker.removeprefix("cards ") for marker in MARKER.findall(pages) if marker.startswith("cards ")]
    named = [id for words in names for id in named_cards(words)]
    assert sorted(named) == sorted(card_ids())


def test_every_rule_says_when_it_fires_and_answers_the_questions():
    for rule in (*RULES, *JOB_RULES):
        fires, *answers = paragraphs(inspect.getdoc(rule) or "")
        assert fires.startswith("Fires when "), rule
        assert tuple(answer.partition(": ")[0] for answer in answers) == QUESTIONS, rule


def test_cards_of_the_demo_recordings_are_those_of_the_rules():
    """A rule is named after its card, so that a section of the documentation can show the right example."""
    assert examples().keys() <= set(card_ids())
    assert len(examples()) >= 10


def test_pictures_are_small():
    pictures = list((PROJECT / "docs/screenshots").glob("*.png"))
    assert pictures
    assert [picture.name for picture in pictures if picture.stat().st_size > PICTURE_BYTES] == []


@pytest.mark.parametrize("module", [markdown, figures, cards], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("name", "content", "address"),
    [
        ("a.html", '<script async src="https://host/a.js"></script>', "https://host/a.js"),
        ("a.html", "<link rel=stylesheet href='//host/a.css'>", "//host/a.css"),
        ("a.css", "@font-face { src: url(https://host/a.woff2) }", "https://host/a.woff2"),
        ("a.css", '@import "https://host/a.css"', "https://host/a.css"),
        ("a.js", 'fetch("https://host/a.json")', "https://host/a.json"),
    ],
)
def test_a_site_that_loads_another_host_is_found(tmp_path, name, content, address):
    (tmp_path / name).write_text(content)
    assert list(offline.loads(tmp_path)) == [(tmp_path / name, address)]


def test_links_to_other_hosts_load_nothing(tmp_path):
    (tmp_path / "a.html").write_text('<a href="https://host/">a host</a><svg xmlns="http://www.w3.org/2000/svg"/>')
    assert list(offline.loads(tmp_path)) == []


def python_in(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_code_imports_what_exists(page):
    trees = [ast.parse(code) for code in python_in(page)]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [(node.module or "", alias.name) for node in imports for alias in node.names]
    assert [(module, name) for module, name in ours if not defines(module, name)] == []


def defines(module: str, name: str) -> bool:
    """The source is read and not imported, because callbacks need their frameworks."""
    found = importlib.util.find_spec(module)
    return found is not None and re.search(rf"\b{name}\b", Path(found.origin or "").read_text()) is not None


def test_arguments_of_profile_steps_are_described():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\w+) \|", (PROJECT / "docs/recording.md").read_text(), re.MULTILINE)
    documented = {name.strip("`"): default for names, default in rows for name in names.split(", ")}
    arguments = list(inspect.signature(profile_steps).parameters.values())[1:]
    switches = {True: "on", False: "off"}
    assert documented == {each.name: switches.get(each.default, str(each.default)) for each in arguments}
