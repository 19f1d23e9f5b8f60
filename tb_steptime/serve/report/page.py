"""Included answers -> one HTML page that needs neither server nor network.

<meta policy>            nothing is loaded from anywhere; the two scripts below run, known by their hashes
#program, #answers       compressed and in base64, so that no name in a recording can act as HTML markup
#events-ID, #flame-ID    single events and flame graphs, one element per span that has them: read when its Timeline or
                         its flame graph is opened
<script>                 unpacks the program, which unpacks the answers

JSON is made smaller before it is compressed: rows of one shape become columns, which group similar values, and long
lists of detail are truncated.

    [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, ...]     ->  {"#": ["a", "b"], "v": [[1, 2, ...], ["x", "x", ...]]}

`frontend/src/server/recorded.ts` reads it.

What names a machine is replaced, so that a report does not reveal it.

    myhost_4711                    ->  worker_4711     torch names a worker by host and process unless told otherwise
    /home/me/job/train.py(54)      ->  train.py(54)    in summaries that were written with --keep-paths

The replacement is made in the encoded text of the answers, so that files, headlines and addresses agree.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import tempfile
from collections.abc import Mapping
from typing import IO, NamedTuple, TypeAlias

import msgspec

from tb_steptime import __version__
from tb_steptime.errors import TraceError
from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.private_paths import passed_on, replaced
from tb_steptime.ingest.states import Problem
from tb_steptime.serve.bundle import report_program
from tb_steptime.serve.report.extras import IncludedEvents, IncludedExtras, IncludedFlames
from tb_steptime.serve.report.included import IncludedAnswers, Place, included_answers
from tb_steptime.serve.scalars import JobScalars
from tb_steptime.serve.served import SpanFailed
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import Index, encode

#: Maximum size of the JSON in columns, which makes a page of 1.5 MB with its program. Where there is more, the page has
#: less detail.
_MOST_JSON_BYTES = 6_000_000


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Row: TypeAlias = "dict[str, Json]"

#: Minimum number of rows that become columns.
_ROWS = 3


def pack(value: Json) -> Json:
    """Packs a value. An object that has one of the marks "#" and "'" as a key becomes {"'": [[name, value], ...]}."""
    if isinstance(value, dict):
        inside: Row = {name: pack(each) for name, each in value.items()}
        return {"'": [[name, each] for name, each in inside.items()]} if {"#", "'"} & value.keys() else inside
    if not isinstance(value, list):
        return value
    rows = _uniform_rows(value)
    if not rows:
        return [pack(each) for each in value]
    return {"#": list(rows[0]), "v": [pack([row[name] for row in rows]) for name in rows[0]]}


def _uniform_rows(values: list[Json]) -> list[Row]:
    """Returns the values if they all are objects with the same keys in the same order, and enough; else none."""
    rows = [value for value in values if isinstance(value, dict)]
    names = list(rows[0]) if rows else []
    uniform = len(values) >= _ROWS and len(rows) == len(values) and names and all(list(row) == names for row in rows)
    return rows if uniform else []


class Detail(NamedTuple):
    """How many levels pictures over time keep, and how many table rows keep their single calls and launches."""

    levels: int
    rows: int


def coarser(value: Json, detail: Detail) -> Json:
    """Truncates every list of levels and every list of details. No figure changes, and the page says where detail is
    missing.

    levels    256 bins, 1024 bins, 4096 bins     from coarse to fine; the finest only shows in a zoomed picture
    details   of the row with most time, ...     single calls and launches, for so many rows
    """
    if isinstance(value, dict):
        return {
            name: coarser(each[: detail.rows] if name == "details" and isinstance(each, list) else each, detail)
            for name, each in value.items()
        }
    if not isinstance(value, list):
        return value
    return [coarser(each, detail) for each in (value[: detail.levels] if _are_levels(value) else value)]


def _are_levels(values: list[Json]) -> bool:
    """Returns whether the list holds pictures of one window in ever finer bins."""
    lengths = [each.get("bin_ns") if isinstance(each, dict) else None for each in values]
    counts = [length for length in lengths if isinstance(length, int)]
    return len(values) > 1 and len(counts) == len(values) and sorted(set(counts), reverse=True) == counts


#: Degrees of detail, tried in turn. The coarsest level is enough for a picture that is not zoomed.
_DETAILS = (Detail(3, 1000), Detail(1, 20), Detail(1, 3))

NOTHING = IncludedExtras()

#: The first line of every report, by which a file is recognized as one.
DOCTYPE = b"<!DOCTYPE html><!-- Step Insights report -->\n"

#: Unpacks the program and runs it. The browser compares both with the hashes of the policy.
_LOADER = """\
(async () => {
  try {
    const letters = document.getElementById("program").textContent.trim();
    const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    const program = document.createElement("script");
    program.type = "module";
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    program.textContent = await new Response(stream).text();
    document.body.append(program);
  } catch (error) {
    document.getElementById("without").hidden = false;
  }
})();
"""


class NoProgramError(TraceError):
    """The front end was not built."""


def report_page(answers: IncludedAnswers, extras: IncludedExtras = NOTHING) -> bytes:
    """Builds the page, with less detail where it would be too large. Raises NoProgramError."""
    program = report_program()
    if program is None:
        hint = "In the source folder, run `make demo` or `pip install .`, which build it."
        raise NoProgramError("Step Insights is installed without its front end", "", hint)
    content = _packed(msgspec.json.decode(without_machine(answers)))
    parts = {f"events-{id}": each for id, each in extras.events.items()} | {
        f"flame-{id}": each for id, each in extras.flames.items()
    }
    texts = {name: events_without_machine(each, answers.index) for name, each in parts.items()}
    return _page(program, content, {name: _compressed(msgspec.json.decode(text)) for name, text in texts.items()})


def _packed(content: Json) -> bytes:
    packed: Json = None
    for detail in _DETAILS:
        packed = coarser(content, detail)
        if len(msgspec.json.encode(pack(packed))) <= _MOST_JSON_BYTES:
            break
    return _compressed(packed)


def _compressed(content: Json) -> bytes:
    return gzip.compress(msgspec.json.encode(pack(content)), 9, mtime=0)


def report_file(store: Store, scalars: JobScalars, place: Place) -> IO[bytes]:
    """Writes the report of all spans read so far into a temporary file, which is deleted when it is closed. place:
    where it opens. Raises SpanFailed where the front end was not built."""
    try:
        page = report_page(included_answers(store, scalars, place=place))
    except NoProgramError as error:
        raise SpanFailed(Problem.of(error)) from None
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    file.write(page)
    file.seek(0)
    return file


def _page(program: bytes, answers: bytes, parts: Mapping[str, bytes]) -> bytes:
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(_LOADER.encode())} {_hash(program)}",
            "img-src data: blob:",
            "font-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    page = _TEMPLATE.format(
        policy=policy,
        version=__version__,
        program=_letters(gzip.compress(program, 9, mtime=0)),
        answers=_letters(answers),
        parts="".join(_PART.format(name=name, part=_letters(each)) for name, each in parts.items()),
        loader=_LOADER,
    )
    return DOCTYPE + page.encode()


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _letters(content: bytes) -> str:
    return base64.b64encode(content).decode()


_TEMPLATE = """\
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tb-steptime {version}">
<title>Step Insights</title>
</head>
<body>
<noscript>This report draws its figures with JavaScript, which is turned off here.</noscript>
<p id="without" hidden>This browser is too old for the report: open it in one of 2023 or later.</p>
<script type="text/plain" id="program">{program}</script>
<script type="text/plain" id="answers">{answers}</script>
{parts}<script>{loader}</script>
</body>
</html>
"""

_PART = """\
<script type="text/plain" id="{name}">{part}</script>
"""


def without_machine(answers: IncludedAnswers) -> bytes:
    """Returns the answers as JSON."""
    text = encode(answers)
    if answers.keeps_paths:
        text = replaced(text, passed_on([text]))
    return _renamed(text, answers.index)


def events_without_machine(events: IncludedEvents | IncludedFlames, index: Index) -> bytes:
    """Does the same for a span's events or flame graphs, which hold whole paths. The paths of one span are shortened
    without regard to other spans, as in a summary."""
    text = encode(events)
    return _renamed(replaced(text, passed_on([text])), index)


def _renamed(text: bytes, index: Index) -> bytes:
    workers = passed_on_workers((run.name, worker.name) for run in index.runs for worker in run.workers)
    names = {name: new for name, new in workers.items() if new != name}
    if not names:
        return text
    either = re.compile(b"|".join(re.escape(_inside(name)) for name in sorted(names, key=len, reverse=True)))
    written = {_inside(name): new.encode() for name, new in names.items()}
    return either.sub(lambda match: written[match[0]], text)


def _inside(name: str) -> bytes:
    """Returns a text as it appears inside a JSON string."""
    return msgspec.json.encode(name)[1:-1]
