"""Recorded answers -> one HTML page that needs neither server nor network.

<meta policy>            nothing is loaded from anywhere; the two scripts below run, known by their hashes
#program, #answers       compressed and in base64, so that no name in a recording can act as HTML markup
#events-ID, #flame-ID    single events and flame graphs, one element per span that has them: read when its Timeline or
                         its flame graph is opened
<script>                 unpacks the program, which unpacks the answers
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import tempfile
from collections.abc import Mapping
from typing import IO

import msgspec

from tb_steptime import __version__
from tb_steptime.errors import TraceError
from tb_steptime.ingest.states import Problem
from tb_steptime.serve.http.bundle import report_program
from tb_steptime.serve.refusals import SpanFailed
from tb_steptime.serve.report.packing import Detail, Json, coarser, pack
from tb_steptime.serve.report.private import events_without_machine, without_machine
from tb_steptime.serve.report.read_again import Included
from tb_steptime.serve.report.recorded import IncludedAnswers, recorded
from tb_steptime.serve.scalars import JobScalars
from tb_steptime.serve.store import Store

#: Maximum size of the JSON in columns, which makes a page of 1.5 MB with its program. Where there is more, the page has
#: less detail.
_MOST_JSON_BYTES = 6_000_000
#: Degrees of detail, tried in turn. The coarsest level is enough for a picture that is not zoomed.
_DETAILS = (Detail(3, 1000), Detail(1, 20), Detail(1, 3))

NOTHING = Included()

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


def report_page(answers: IncludedAnswers, held: Included = NOTHING) -> bytes:
    """Builds the page, with less detail where it would be too large. Raises NoProgramError."""
    program = report_program()
    if program is None:
        hint = "In the source folder, run `make demo` or `pip install .`, which build it."
        raise NoProgramError("Step Insights is installed without its front end", "", hint)
    content = _packed(msgspec.json.decode(without_machine(answers)))
    parts = {f"events-{id}": each for id, each in held.events.items()} | {
        f"flame-{id}": each for id, each in held.flames.items()
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


def report_file(store: Store, scalars: JobScalars) -> IO[bytes]:
    """Writes the report of all spans read so far into a temporary file, which is deleted when it is closed. Raises
    SpanFailed where the front end was not built."""
    try:
        page = report_page(recorded(store, scalars))
    except NoProgramError as error:
        raise SpanFailed(Problem(error.problem, error.path, error.hint)) from None
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
