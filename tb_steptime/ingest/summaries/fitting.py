"""A JSON value of an earlier release -> one that a type of this release can be made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from tb_steptime.text import Reason

#: Instead of a sentence that no code has taken the place of.
OLDER_RELEASE = Reason("older_release")

#: Which code has taken the place of a sentence, by the sentence's template.
Codes = Mapping[str, str]

_Fitter = Callable[[Any, Codes], Any]


def fitted(value: Any, kind: type, codes: Codes) -> Any:
    """Without the fields that `kind` does not have, and with an empty value for those that it lacks.

    Empty is the field's default, else None, else an empty list or table; a number that is missing stays missing, so
    that `msgspec.convert` refuses the value. A sentence where `kind` wants a reason becomes its code.
    """
    fit = _fitter_of(kind)
    return fit(value, codes) if fit else value


@functools.cache
def _fitter_of(kind: type) -> _Fitter | None:
    return _fitter(inspect.type_info(kind))


def _fitter(kind: inspect.Type) -> _Fitter | None:
    """None where there is nothing to fit, so that long lists of numbers are left as they are."""
    if isinstance(kind, inspect.StructType):
        return _fit_reason if kind.cls is Reason else _fitter_of_struct(kind)
    if isinstance(kind, inspect.UnionType):  # of None, of numbers, or of one type with None
        inner = next(filter(None, map(_fitter, kind.types)), None)
        return inner and (lambda value, codes: None if value is None else inner(value, codes))
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        return _fitter_of_list(_fitter(kind.item_type))
    if isinstance(kind, inspect.DictType):
        return _fitter_of_table(_fitter(kind.value_type))
    return None


# Below, what is of another kind stays as it is: `msgspec.convert` says what is wrong with it.


def _fitter_of_list(item: _Fitter | None) -> _Fitter | None:
    return item and (lambda value, codes: [item(each, codes) for each in value] if isinstance(value, list) else value)


def _fitter_of_table(entry: _Fitter | None) -> _Fitter | None:
    return entry and (
        lambda value, codes: (
            {key: entry(each, codes) for key, each in value.items()} if isinstance(value, dict) else value
        )
    )


def _fitter_of_struct(kind: inspect.StructType) -> _Fitter:
    inner = {field.encode_name: _fitter(field.type) for field in kind.fields}
    missing = {field.encode_name: _empty(field.type) for field in kind.fields if field.required}
    empty = {name: value for name, value in missing.items() if value is not msgspec.NODEFAULT}

    def fit(value: Any, codes: Codes) -> Any:
        if not isinstance(value, dict):
            return value
        known = {name: one(value[name], codes) if one else value[name] for name, one in inner.items() if name in value}
        return empty | known

    return fit


def _fit_reason(value: Any, codes: Codes) -> Any:
    if isinstance(value, dict) and "template" in value:
        code = codes.get(value["template"])
        return {"code": code, "values": value["values"]} if code else msgspec.to_builtins(OLDER_RELEASE)
    return value


def _empty(kind: inspect.Type) -> Any:
    """None where that is allowed, else an empty list or table; NODEFAULT where there is no such value."""
    if isinstance(kind, inspect.NoneType):
        return None
    if isinstance(kind, inspect.UnionType) and any(isinstance(each, inspect.NoneType) for each in kind.types):
        return None
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        return []
    return {} if isinstance(kind, inspect.DictType) else msgspec.NODEFAULT
