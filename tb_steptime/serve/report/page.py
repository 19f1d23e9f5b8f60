"""Recorded answers -> one HTML page that needs neither server nor network.

<meta policy>            nothing is loaded from anywhere; the two scripts below run, known by their hashes
#program, #answers       compressed, as letters: whatever names a recording holds, no mark of HTML is among them
<script>                 unpacks the program, which unpacks the answers
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import tempfile
from typing import IO

import msgspec

from tb_steptime import __version__
from tb_steptime.errors import TraceError
from tb_steptime.ingest.states import Problem
from tb_steptime.serve.bundle import report_program
from tb_steptime.serve.refusals import SpanFailed
from tb_steptime.serve.report.coarser import coarser
from tb_steptime.serve.report.packing import Json, pack
from tb_steptime.serve.report.private import without_machine
from tb_steptime.serve.report.recorded import Recorded, recorded
from tb_steptime.serve.store import Store

#: A page larger than this is hard to send: its pictures over time then hold fewer of their finest bins.
_MOST_BYTES = 1_000_000
#: How many levels of those pictures are tried; the coarsest fills a picture that is not zoomed.
_LEVELS = (3, 2, 1)

#: By its first line a report is known as one.
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


def report_page(answers: Recorded) -> bytes:
    """Raises NoProgramError. Where the page would be large, its pictures over time are coarser when they are zoomed."""
    program = report_program()
    if program is None:
        hint = "In the source folder, run `make demo` or `pip install .`, which build it."
        raise NoProgramError("Step Insights is installed without its front end", "", hint)
    content: Json = msgspec.json.decode(without_machine(answers))
    page = b""
    for levels in _LEVELS:
        page = _page(program, coarser(content, levels))
        if len(page) <= _MOST_BYTES:
            break
    return page


def report_file(store: Store) -> IO[bytes]:
    """The page of what is read by now, in a file that is gone when it is closed. Raises SpanFailed where the front end
    was not built."""
    try:
        page = report_page(recorded(store))
    except NoProgramError as error:
        raise SpanFailed(Problem(error.problem, error.path, error.hint)) from None
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    file.write(page)
    file.seek(0)
    return file


def _page(program: bytes, answers: Json) -> bytes:
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(_LOADER.encode())} {_hash(program)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    page = _TEMPLATE.format(
        policy=policy,
        version=__version__,
        program=_letters(program),
        answers=_letters(msgspec.json.encode(pack(answers))),
        loader=_LOADER,
    )
    return DOCTYPE + page.encode()


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _letters(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


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
<script>{loader}</script>
</body>
</html>
"""
