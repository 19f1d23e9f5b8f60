"""The rooms of the package: how many modules and lines each has, what it imports, and what it is for.

python -m tools.rooms [FOLDER]      of the package in this folder; another one to compare with
python -m tools.rooms --markdown    the table in docs/rooms.md
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tb_steptime"


@dataclass(frozen=True)
class Room:
    """A folder of modules, without those of the folders in it. name: "metrics/idle", "" for the package's own.

    imports: the rooms that its modules import from, itself left out.
    """

    name: str
    modules: int
    lines: int
    imports: frozenset[str]
    purpose: str


def rooms(package: Path) -> list[Room]:
    """By name."""
    folders = sorted({path.parent for path in package.rglob("*.py")})
    return [_room(package, folder) for folder in folders]


def _room(package: Path, folder: Path) -> Room:
    files = sorted(folder.glob("*.py"))
    sources = {file: file.read_text() for file in files}
    name = _name(package, folder)
    imported = {_name(package, place) for source in sources.values() for place in _imported(package, source)}
    lines = sum(source.count("\n") for source in sources.values())
    doc = ast.get_docstring(ast.parse(sources.get(folder / "__init__.py", ""))) or ""
    modules = sum(file.name != "__init__.py" for file in files)
    return Room(name, modules, lines, frozenset(imported - {name}), doc.partition("\n\n")[0].replace("\n", " "))


def _name(package: Path, folder: Path) -> str:
    return "" if folder == package else str(folder.relative_to(package))


def _imported(package: Path, source: str) -> Iterator[Path]:
    """The folders of the modules that a source text imports."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(package.name):
            continue
        place = package.joinpath(*(node.module or "").split(".")[1:])
        yield place if place.is_dir() else place.parent


def table(found: list[Room]) -> str:
    """A line for each room: its name, modules, lines, and the top-level rooms from which it imports."""
    lines = [f"{'room':<30}{'modules':>8}{'lines':>8}   imports from"]
    for room in found:
        floor = room.name.partition("/")[0]
        others = sorted({each.partition("/")[0] for each in room.imports} - {floor, ""})
        shown = "  " * room.name.count("/") + (room.name.rpartition("/")[2] or "tb_steptime")
        lines.append(f"{shown:<30}{room.modules:>8}{room.lines:>8}   {', '.join(others)}".rstrip())
    total = f"{'':<30}{sum(room.modules for room in found):>8}{sum(room.lines for room in found):>8}"
    return "\n".join([*lines, total])


def markdown(found: list[Room]) -> str:
    rows = [f"| `{room.name}` | {room.modules} | {room.lines} | {room.purpose} |" for room in found if room.name]
    return "\n".join(["| room | modules | lines | what it is for |", "|---|---:|---:|---|", *rows])


def of_package() -> str:
    """The table of the page about rooms."""
    return markdown(rooms(PACKAGE))


def main(arguments: list[str]) -> None:
    if arguments == ["--markdown"]:
        print(of_package())
    else:
        print(table(rooms(Path(arguments[0]).resolve() if arguments else PACKAGE)))


if __name__ == "__main__":
    main(sys.argv[1:])
