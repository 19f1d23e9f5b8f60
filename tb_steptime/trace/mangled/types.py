"""Types in a mangled name: the text before and the text after the name that they declare.

int (*) [4]       before "int (*", after ") [4]"
void (*)(float)   before "void (*", after ")(float)"
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

#: One letter, or two that begin with D: Itanium C++ ABI, 5.1.5.2.
BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dn": "decltype(nullptr)", "Dh": "_Float16",
    "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "DF16_": "_Float16", "DF16b": "std::bfloat16_t",
}  # fmt: skip

#: Suffix of a literal of these types; literals of other types have their type in front.
LITERAL_ENDS = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll"}
LITERAL_ENDS |= {"unsigned long long": "ull"}

#: plain: a pointer to it only adds a star; open: a function or an array, whose pointer needs parentheses.
Form = Literal["plain", "open"]


class Type(msgspec.Struct, frozen=True):
    """A type, or the arguments that a parameter pack stands for, which are then in `expanded`."""

    before: str
    after: str = ""
    form: Form = "plain"
    reference: str = ""
    expanded: tuple[Type, ...] | None = None

    @property
    def text(self) -> str:
        if self.expanded is not None:
            return ", ".join(each.text for each in self.expanded)
        return self.before + self.after

    @property
    def is_pack(self) -> bool:
        return self.expanded is not None


def pointing(to: Type, sign: str) -> Type:
    """Returns a pointer or a reference: `sign` is "*", "&" or "&&". References to references collapse."""
    if to.reference and sign != "*":
        both = "&&" if to.reference == sign == "&&" else "&"
        return replace(to, before=to.before.removesuffix(to.reference) + both, reference=both)
    reference = "" if sign == "*" else sign
    if to.form == "open":
        space = "" if to.before.endswith(" ") else " "
        after = to.after if to.after.startswith(("(", " ")) else f" {to.after}"
        return Type(f"{to.before}{space}({sign}", f"){after}", "plain", reference)
    return Type(to.before + sign, to.after, "plain", reference)


def qualified(type_: Type, qualifiers: str) -> Type:
    """Returns the type with these qualifiers, which are letters of "rVK" in the order of the name."""
    suffix = "".join({"r": " restrict", "V": " volatile", "K": " const"}[each] for each in reversed(qualifiers))
    if type_.form == "open":
        return replace(type_, after=type_.after + suffix)
    return replace(type_, before=type_.before + suffix)


def array_of(element: Type, size: str) -> Type:
    return Type(element.before, f" [{size}]{element.after.removeprefix(' ')}", "open")


def function_of(result: Type, parameters: str) -> Type:
    return Type(f"{result.before} ", f"{parameters}{result.after}", "open")


def in_angles(arguments: list[Type]) -> str:
    """Returns template arguments in angle brackets, without empty packs."""
    texts = [each.text for each in arguments if not (each.is_pack and not each.expanded)]
    inside = ", ".join(texts)
    return f"<{inside} >" if inside.endswith(">") else f"<{inside}>"
