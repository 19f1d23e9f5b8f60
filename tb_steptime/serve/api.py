"""The TypeScript types of everything that the front end reads (the server's answers and the contents of a report), and
the constants that both sides share.

`python -m tb_steptime.serve.api` prints `frontend/src/api.gen.ts`. It is made from the JSON Schema of the types.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tb_steptime.comparison.comparison import MOST_IN_CHAIN
from tb_steptime.insights.wording.title_ids import RANKS_TITLES, SPAN_TITLES, TRENDS_TITLES
from tb_steptime.serve.report.extras import IncludedEvents, IncludedFlames
from tb_steptime.serve.report.included import IncludedAnswers
from tb_steptime.serve.wire import ANSWERS, RESULTS
from tb_steptime.tables.base import derived_schemas
from tb_steptime.tables.heads import TABLES

#: Types in files, not in answers.
_IN_FILES = (IncludedAnswers, IncludedEvents, IncludedFlames)

Schema = Mapping[str, Any]

_PRIMITIVES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
_DOC_WIDTH = 117
_LINE_WIDTH = 120


def api() -> str:
    """Returns the whole of `frontend/src/api.gen.ts`; depends only on the types."""
    results = "".join(f"  {view}: {result.__name__};\n" for view, result in RESULTS.items())
    return "\n".join(
        [
            doc_comment("Made by `make gen` from tb_steptime/serve/api.py. Do not edit."),
            string_union("ViewId", RESULTS),
            pattern_union("SpanTitleId", SPAN_TITLES),
            pattern_union("TrendsTitleId", TRENDS_TITLES),
            string_union("RanksTitleId", RANKS_TITLES),
            f"/** The type of SpanPage.result, by view. */\nexport interface ResultOf {{\n{results}}}\n",
            "/** A SpanPage whose view is known. */\n"
            'export type PageOf<V extends ViewId> = Omit<SpanPage, "result"> & { result: ResultOf[V] };\n',
            interfaces([*ANSWERS, *_IN_FILES, *RESULTS.values()], derived_schemas(TABLES)),
            constant("MOST_IN_CHAIN", MOST_IN_CHAIN),
        ]
    )


def interfaces(types: Iterable[Any], more: Mapping[str, Mapping[str, Schema]]) -> str:
    """Returns one exported interface per Struct and one union of strings per Enum that `types` are made of, sorted by
    name.

    Fields with a default are always encoded, so they are required here like any other. more: further fields of a type
    that is named so.
    """
    _, components = msgspec.json.schema_components(types, ref_template="{name}")
    for name, fields in more.items():
        components[name]["properties"].update(fields)
    return "\n".join(_declaration(name, components[name]) for name in sorted(components))


def string_union(name: str, values: Iterable[str]) -> str:
    """`export type Name = "a" | "b";`"""
    return _union_of(name, list(map(_quoted, values)))


def _union_of(name: str, members: Sequence[str]) -> str:
    """Writes a union on one line where it fits, else with one member per line."""
    line = f"export type {name} = {' | '.join(members)};\n"
    return line if len(line) <= _LINE_WIDTH else f"export type {name} =\n  | " + "\n  | ".join(members) + ";\n"


def pattern_union(name: str, patterns: Iterable[str]) -> str:
    """Like `string_union`; `<number>` in a value is any number.

    >>> print(pattern_union("Id", ["all", "one.<number>"]), end="")
    export type Id = "all" | `one.${number}`;
    """
    values = [f"`{each.replace('<number>', '${number}')}`" if "<" in each else _quoted(each) for each in patterns]
    return _union_of(name, values)


def constant(name: str, value: int) -> str:
    """`export const NAME = 3;`"""
    return f"export const {name} = {value};\n"


def doc_comment(text: str) -> str:
    """Returns a text as a JSDoc comment, wrapped; empty for an empty text."""
    lines = [line for paragraph in text.strip().splitlines() for line in textwrap.wrap(paragraph.strip(), _DOC_WIDTH)]
    if not lines:
        return ""
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "/**\n" + "".join(f" * {line}\n" for line in lines) + " */\n"


def _declaration(name: str, schema: Schema) -> str:
    comment = doc_comment(schema.get("description", ""))
    if "enum" in schema:
        return comment + string_union(name, schema["enum"])
    fields = "".join(f"  {field}: {_type(field_schema)};\n" for field, field_schema in schema["properties"].items())
    return f"{comment}export interface {name} {{\n{fields}}}\n"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"])
    if "anyOf" in schema:
        return _union(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return _union(_quoted(value) for value in schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return _union(_type({**schema, "type": each}) for each in kind)
    if kind == "array":
        return _array(schema)
    if kind == "object":
        return _record(schema)
    return _PRIMITIVES.get(kind, "unknown")


def _record(schema: Schema) -> str:
    """A key type with a title is the union of that name, and any of its keys may be absent."""
    value = _type(schema.get("additionalProperties", {}))
    keys = schema.get("propertyNames", {}).get("title")
    return f"Partial<Record<{keys}, {value}>>" if keys else f"Record<string, {value}>"


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
    item = _type(schema.get("items", {}))
    return f"({item})[]" if " | " in item else f"{item}[]"


def _union(members: Iterable[str]) -> str:
    """Returns the union of the members, each once, with null last."""
    distinct = dict.fromkeys(members)
    return " | ".join(sorted(distinct, key=lambda member: member == "null"))


def _quoted(value: str) -> str:
    return f'"{value}"'


if __name__ == "__main__":
    print(api(), end="")  # noqa: T201 - the one module whose output is source text
