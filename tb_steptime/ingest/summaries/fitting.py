"""A JSON value of an earlier release -> one that a type of this release can be made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

from tb_steptime.text import Phrase, Reason

#: Instead of what an earlier release wrote as a sentence.
OLDER_RELEASE = Reason("older_release")

_Fitter = Callable[[Any], Any]


def fitted(value: Any, kind: type) -> Any:
    """Without the fields that `kind` does not have, and with an empty value for those that it lacks.

    Empty is the field's default, else None, else an empty list or table; a number that is missing stays missing, so
    that `msgspec.convert` refuses the value.
    """
    fit = _fitter_of(kind)
    return fit(value) if fit else value


@functools.cache
def _fitter_of(kind: type) -> _Fitter | None:
    return _fitter(inspect.type_info(kind))


def _fitter(kind: inspect.Type) -> _Fitter | None:
    """None where there is nothing to fit, so that long lists of numbers are left as they are."""
    if isinstance(kind, inspect.StructType):
        return _fitter_of_struct(kind)
    if isinstance(kind, inspect.UnionType):  # of None, of numbers, or of one type with None
        inner = next(filter(None, map(_fitter, kind.types)), None)
        return inner and (lambda value: None if value is None else inner(value))
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        item = _fitter(kind.item_type)
        return item and (lambda value: [item(each) for each in value] if isinstance(value, list) else value)
    if isinstance(kind, inspect.DictType):
        entry = _fitter(kind.value_type)
        return entry and (lambda value: _fit_entries(value, entry))
    return None


def _fit_entries(value: Any, entry: _Fitter) -> Any:
    return {key: entry(each) for key, each in value.items()} if isinstance(value, dict) else value


def _fitter_of_struct(kind: inspect.StructType) -> _Fitter:
    inner = {field.encode_name: _fitter(field.type) for field in kind.fields}
    missing = {field.encode_name: _empty(field.type) for field in kind.fields if field.required}
    empty = {name: value for name, value in missing.items() if value is not msgspec.NODEFAULT}

    def fit(value: Any) -> Any:
        if not isinstance(value, dict):
            return value  # here as elsewhere, `msgspec.convert` says what is wrong with it
        if kind.cls is not Phrase and _is_sentence(value):
            return msgspec.to_builtins(OLDER_RELEASE)
        present = {name: one(value[name]) if one else value[name] for name, one in inner.items() if name in value}
        return empty | present

    return fit


def _is_sentence(value: dict[str, Any]) -> bool:
    return "template" in value and value.keys() <= {"template", "values"}


def _empty(kind: inspect.Type) -> Any:
    """None where that is allowed, else an empty list or table; NODEFAULT where there is no such value."""
    if isinstance(kind, inspect.NoneType):
        return None
    if isinstance(kind, inspect.UnionType) and any(isinstance(each, inspect.NoneType) for each in kind.types):
        return None
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        return []
    return {} if isinstance(kind, inspect.DictType) else msgspec.NODEFAULT
