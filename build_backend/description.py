"""README.md as the package index shows it: its links and pictures are those of the release in the repository."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: A link or picture, with its text; an address or a heading of the page itself is none of the repository's files.
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def repository() -> str:
    """Its address, which stands in setup.cfg alone."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    urls = dict(line.split(" = ") for line in settings["metadata"]["project_urls"].strip().splitlines())
    return urls["Source"]


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "tb_steptime/__init__.py").read_text("utf-8"), re.MULTILINE)
    assert found, "tb_steptime/__init__.py names no version"
    return found[1]


def description() -> str:
    """The whole page, in Markdown."""
    place = f"{repository()}/{{kind}}/v{version()}/"

    def absolute(link: re.Match[str]) -> str:
        picture, text, path = link.groups()
        return f"{picture}[{text}]({place.format(kind='raw' if picture else 'blob')}{path})"

    return _LINK.sub(absolute, (ROOT / "README.md").read_text("utf-8"))
