"""Names as compilers mangle them (Itanium C++ ABI) -> names as in the source. Some writers leave kernel names as the
compiler made them.

_ZN2at6native12_GLOBAL__N_13addIfLi4EEEvPT_   ->   void at::native::(anonymous namespace)::add<float, 4>(float*)
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.table import EventTable, StringTable

#: Suffix that compilers append to specialised copies of a function, and AMD to the descriptor of a kernel.
_CLONE = re.compile(r"\.[A-Za-z_]+(?:\.\d+)*")


def demangled(name: str) -> str:
    """Returns the demangled name, as c++filt shows it; it is unchanged if it is not mangled, or cannot be parsed.

    >>> demangled("_ZN2at6native12_GLOBAL__N_13addIfLi4EEEvPT_")
    'void at::native::(anonymous namespace)::add<float, 4>(float*)'
    """
    if not name.startswith("_Z"):
        return name
    from tb_steptime.trace.mangled.parser import NotReadableError, Parser  # few writers mangle names

    parser = Parser(name)
    try:
        text = parser.encoding()
    except (NotReadableError, RecursionError):
        return name
    rest = name[parser.at :]
    clones = _CLONE.findall(rest)
    return text + "".join(f" [clone {each}]" for each in clones) if "".join(clones) == rest else name


def demangled_names(names: StringTable, events: EventTable) -> tuple[StringTable, EventTable]:
    """Returns the table with demangled names. Each distinct name is parsed once. Names that become equal share the
    first one's number."""
    mangled = [number for number, name in enumerate(names.strings) if name.startswith("_Z")]
    if not mangled:
        return names, events
    strings = list(names.strings)
    place = {name: number for number, name in enumerate(strings)}
    same = np.arange(len(strings))
    for number in mangled:
        written = demangled(strings[number])
        first = place.setdefault(written, number)
        if first == number:
            strings[number] = written
        same[number] = first
    if (same == np.arange(len(strings))).all():
        return StringTable(strings), events
    return StringTable(strings), replace(events, name=same[events.name].astype(np.int32))
