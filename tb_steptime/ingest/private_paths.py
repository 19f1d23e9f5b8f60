"""Shortens paths to the part that may be passed on: a file's name within its package or working tree. Folders above it
name users and machines.

    /env/lib/python3.11/site-packages/timm/layers.py(3): forward  ->  timm/layers.py(3): forward
    /home/me/job/train.py(54): step                               ->  train.py(54): step
    /home/me/job/data/sets.py(7): item                            ->  data/sets.py(7): item
    /scratch/me/old/train.py(8): step                             ->  (2)/train.py(8): step

torch already writes files below `sys.path` without that folder, so only other files have whole paths. The replacement
is done in the text of measured results, after everything was grouped by the whole names, so no figure depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import short_frame

#: A part of a path: a folder or a file, within a sentence or a name. JSON writes a backslash twice.
_SEGMENT = rb"""[^\s/\\"'()\[\]{}<>,;:=|*?]+"""
#: A POSIX path. The pattern begins with its only literal character, so the search skips from one slash to the next. It
#: does not match within a word, a type or an address.
_POSIX = rb'/(?<=["\s(\'=:;,\[]/)' + _SEGMENT + rb"(?:/" + _SEGMENT + rb")+"
#: The file of a Python frame, which may contain spaces: a frame begins a text, or follows a ";" in a call stack.
_FRAME = rb'/(?<=[";]/)[^"\\;()]*\.py(?=\(\d)'
_WINDOWS = rb"\b[A-Za-z]:(?:(?:\\\\|/)" + _SEGMENT + rb")+"
_WINDOWS_FRAME = rb'(?<=[";])[A-Za-z]:(?:\\\\|/)[^";()]*\.py(?=\(\d)'

_MAY_HOLD_PATHS = re.compile(_POSIX + rb"|" + _FRAME)
_PATH = expression(rb"|".join((_WINDOWS_FRAME, _WINDOWS, _FRAME, _POSIX)))
#: Names of files that are not whole paths. A replacement must not equal any of them.
_RELATIVE = expression(rb'["\s;]([^"\s;()/\\][^"\s;()]*\.py)(?=\(\d)')

#: Minimum depth of a folder that may be a working tree: `/home/me` may be one, `/home` or `/tmp` never, because they
#: are shared by several users.
_LEAST_DEPTH = 2


def without_private_paths(measured: MeasuredSpan) -> MeasuredSpan:
    """Returns the same figures under names that may be passed on. Different files keep different names."""
    texts = {view: msgspec.json.encode(result) for view, result in measured.results.items()}
    facts = msgspec.json.encode(measured.facts)
    names = passed_on([facts, *texts.values()])
    if not names:
        return measured
    return msgspec.structs.replace(
        measured,
        facts=msgspec.json.decode(replaced(facts, names), type=type(measured.facts)),
        results={
            view: msgspec.json.decode(replaced(text, names), type=type(measured.results[view]))
            for view, text in texts.items()
        },
    )


def passed_on(texts: Sequence[bytes]) -> dict[bytes, bytes]:
    """Returns the replacement of every whole path in some JSON texts, the same in all of them."""
    paths = {path for text in texts if _may_hold_paths(text) for path in _PATH.findall(text)}
    if not paths:
        return {}
    used = {name.decode(errors="replace") for text in texts for name in _RELATIVE.findall(text)}
    plain = {path: _plain(path) for path in paths}
    names = _distinct(sorted(set(plain.values())), used)
    return {path: names[plain[path]].encode(errors="surrogateescape") for path in paths}


def replaced(text: bytes, names: dict[bytes, bytes]) -> bytes:
    return _PATH.sub(lambda path: names[path[0]], text) if _may_hold_paths(text) else text


def _may_hold_paths(text: bytes) -> bool:
    """Returns whether a text may contain paths. Most contain none, and this test is many times faster than searching
    for all spellings."""
    return b":\\\\" in text or _MAY_HOLD_PATHS.search(text) is not None


def _plain(path: bytes) -> str:
    """Returns the path with single slashes, from the root on."""
    text = path.decode(errors="surrogateescape").replace("\\\\", "/")
    return text[text.index("/") :]


def _distinct(paths: Sequence[str], reserved: set[str]) -> dict[str, str]:
    """Returns a name for each path, different from that of every other path and from the taken ones."""
    folders = {str(PurePosixPath(path).parent) for path in paths}
    names: dict[str, str] = {}
    used = set(reserved)
    for path in paths:
        name = _below_its_tree(path, folders)
        names[path] = next(each for each in _numbered(name) if each not in used)
        used.add(names[path])
    return names


def _below_its_tree(path: str, folders: set[str]) -> str:
    """Returns the path relative to its package, or to the outermost folder around it that directly contains one of the
    files. It is the file name alone where there is neither.

    >>> _below_its_tree("/home/me/job/data/sets.py", {"/home/me/job", "/home/me/job/data"})
    'data/sets.py'
    """
    installed = short_frame(path)
    if installed != path:
        return installed
    around = [each for each in PurePosixPath(path).parents if len(each.parts) > _LEAST_DEPTH and str(each) in folders]
    return str(PurePosixPath(path).relative_to(around[-1])) if around else PurePosixPath(path).name


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"({number})/{name}"
        number += 1
