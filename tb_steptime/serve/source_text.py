"""The text of a source file for the Operators view."""

from __future__ import annotations

from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.ingest.sources import SourceText, source_text, user_folders
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text.frames import source_line


def span_source(span: ServedSpan, file: str) -> SourceText | None:
    """None where no line of the span is in this file, so that no other file can be read. Raises OSError,
    DamagedSummary."""
    measured = span.at_hand()
    lines = measured.result("operators", OperatorsResult).lines
    named = [] if lines is None else [row.source for row in lines.rows]
    if lines is None or not any(line.file == file for line in map(source_line, named) if line):
        return None
    trace = span.found.trace or span.found.summary
    beside = (trace, measured.facts.origin_ns) if trace else None
    return source_text(file, named, lines.line_of, beside, user_folders())
