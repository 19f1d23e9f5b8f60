"""A parser of mangled names, for the part of the grammar that kernel names use: Itanium C++ ABI, 5.1.

    _ZN2at6native3addIfLi4EEEvPT_     at::native::add<float, 4>(float*)
       |------nested name------| |
                 template args   parameters, after the type of the result: T_ is the first argument

Names nest in types and types in names. What was read may occur again as a substitution (S_, S0_, ...), which numbers
types and prefixes of names in the order in which they end. Expressions, which kernel names hardly ever have, are
rejected.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from tb_steptime.trace.mangled.types import (
    BUILTIN,
    LITERAL_ENDS,
    Type,
    array_of,
    function_of,
    in_angles,
    pointing,
    qualified,
)

#: Maximum length of a demangled name. Substitutions can double a name again and again; a longer one is rejected.
MOST_CHARACTERS = 50_000
#: Maximum nesting depth, and maximum number of types in a name, including types that are read again.
DEEPEST, MOST_TYPES = 150, 20_000

_DIGITS = frozenset("0123456789")

_ABBREVIATIONS = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip
#: The full spellings of these classes, used where their members are named.
_CLASSES = {
    "s": "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
    "i": "std::basic_istream<char, std::char_traits<char> >",
    "o": "std::basic_ostream<char, std::char_traits<char> >",
    "d": "std::basic_iostream<char, std::char_traits<char> >",
}
_OPERATORS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "ps": "+", "ng": "-", "ad": "&", "de": "*",
    "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "aS": "=",
    "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<",
    "rs": ">>", "lS": "<<=", "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",", "pm": "->*", "pt": "->",
    "cl": "()", "ix": "[]", "qu": "?",
}  # fmt: skip


class NotReadableError(Exception):
    """The name is truncated, does not follow the ABI, or uses a part of its grammar that is not supported here."""


class Name(msgspec.Struct, frozen=True):
    """A name in demangled form.

    text         the whole name
    bare         the name of its last component, which constructors repeat
    arguments    the template arguments; None if it is not a template
    qualifiers   of the object of a method
    has_result   a template of this name encodes its result type before its parameter types; constructors and
                 conversions do not
    """

    text: str
    bare: str = ""
    arguments: list[Type] | None = None
    qualifiers: str = ""
    has_result: bool = False


class Substitution(msgspec.Struct, frozen=True):
    """What a substitution stands for: the type or prefix that is written from `begin` to `end`. scope: the template
    arguments with which it was read, if it names template parameters; in another scope these differ, so it is read
    again. None for one element of a pack, which does not stand for the others."""

    type: Type
    begin: int
    end: int
    scope: list[Type] | None
    names_parameters: bool


class Parser(msgspec.Struct):
    """Reads a mangled name.

    mangled, at     the name, and the place in it that is read next
    substitutions   what substitutions number
    again           whether something is read again, and so not numbered
    scope           the template arguments to which T_ refers, None inside a lambda's parameters
    element         which element of a pack is being expanded
    depth           of nested types
    """

    mangled: str
    at: int = 2
    substitutions: list[Substitution] = msgspec.field(default_factory=list)
    parameters_read: int = 0
    again: bool = False
    scope: list[Type] | None = msgspec.field(default_factory=list)
    element: int | None = None
    depth: int = 0
    types_read: int = 0

    # what comes next

    def next(self, length: int = 1) -> str:
        return self.mangled[self.at : self.at + length]

    def take(self, text: str) -> bool:
        if not self.mangled.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def need(self, text: str) -> None:
        if not self.take(text):
            raise NotReadableError

    def digits(self) -> str:
        begin = self.at
        while self.next() in _DIGITS:
            self.at += 1
        return self.mangled[begin : self.at]

    def number(self, digits: str) -> int:
        """Reads a number as in S1_ and T0_: no digits mean 0, and the digit 0 means 1."""
        begin = self.at
        while self.next() and self.next() in digits:
            self.at += 1
        written = self.mangled[begin : self.at]
        self.need("_")
        if len(written) > 9:
            raise NotReadableError
        return int(written, len(digits)) + 1 if written else 0

    def keep(self, type_: Type, begin: int, read_before: int) -> Type:
        """Numbers what was read from `begin` on. read_before: how many template parameters had been read at that
        point."""
        bounded(type_.text)
        if not self.again:
            scope = self.scope if self.element is None else None
            self.substitutions.append(Substitution(type_, begin, self.at, scope, self.parameters_read > read_before))
        return type_

    # names

    def encoding(self, *, drop_result: bool = False) -> str:
        """Reads a name with its parameters."""
        outer = self.scope
        name = self.name()
        self.scope = name.arguments if name.arguments is not None else []
        if self.at == len(self.mangled) or self.next() in "E.":
            self.scope = outer
            return name.text
        result = self.type() if name.arguments is not None and name.has_result else None
        text = f"{name.text}{self.parameters()}{qualified(Type(''), name.qualifiers).text}"
        self.scope = outer
        if result is None or drop_result:
            return text
        space = "" if result.after.startswith(")") else " "
        return f"{result.before}{space}{text}{result.after}"

    def parameters(self) -> str:
        types = []
        while self.next() and self.next() not in "E.":
            types.append(self.type())
        if len(types) == 1 and types[0].text == "void" and not types[0].is_pack:
            return "()"
        return bounded(f"({', '.join(each.text for each in types if each.text)})")

    def name(self) -> Name:
        begin, read = self.at, self.parameters_read
        if self.next() == "N":
            return self.nested()
        if self.next() == "Z":
            return self.local()
        if self.next() == "S" and self.next(2) != "St":
            name = Name(self.substitution().text, has_result=True)
        else:
            prefix = "std::" if self.take("St") else ""
            name = self.component("")
            name = replace(name, text=prefix + name.text)
            if self.next() == "I":
                self.keep(Type(name.text), begin, read)
        return self.with_arguments(name) if self.next() == "I" else name

    def with_arguments(self, name: Name) -> Name:
        arguments = self.arguments()
        space = " " if name.text.endswith("<") else ""
        text = bounded(name.text + space + in_angles(arguments))
        return replace(name, text=text, arguments=arguments)

    def nested(self) -> Name:
        self.need("N")
        qualifiers = self.qualifiers()
        if self.take("R"):
            qualifiers += "R"
        elif self.take("O"):
            qualifiers += "O"
        name, added, begin, read = Name(""), 0, self.at, self.parameters_read
        while not self.take("E"):
            before = len(self.substitutions)
            if self.next() == "S":
                name = self.nested_substitution(name)
            elif self.next() == "I" and name.text:
                name = self.with_arguments(name)
                self.keep(Type(name.text), begin, read)
            elif self.next() == "T" and not name.text:
                name = Name(self.template_parameter().text, has_result=True)
                self.keep(Type(name.text), begin, read)
            else:
                inner = self.component(name.bare)
                name = replace(inner, text=f"{name.text}::{inner.text}" if name.text else inner.text)
                self.keep(Type(name.text), begin, read)
            added = len(self.substitutions) - before
        if added:
            self.substitutions.pop()  # the whole is kept as a type, if it is one
        if "R" in qualifiers or "O" in qualifiers:
            raise NotReadableError
        return replace(name, qualifiers=qualifiers)

    def nested_substitution(self, outer: Name) -> Name:
        if outer.text:
            raise NotReadableError
        if self.take("St"):
            return Name("std", "std")
        written = _CLASSES.get(self.next(2)[1:])
        text = self.substitution().text
        text = written or text
        return Name(text, last_component(text), has_result=True)

    def component(self, outer: str) -> Name:
        """Reads one part of a name: an identifier, an operator, a constructor, a lambda. outer: the class's own
        name."""
        char = self.next()
        self.take("L")
        if self.next() in _DIGITS:
            return self.identifier()
        if char in ("C", "D") and self.next(2)[1:] in _DIGITS:
            sign = "~" if char == "D" else ""
            self.at += 2
            return Name(f"{sign}{outer}", outer)
        if self.take("Ul"):
            return self.lambda_()
        if self.take("Ut"):
            place = self.number("0123456789")
            return Name(f"{{unnamed type#{place + 1}}}", has_result=True)
        if self.next(2) in _OPERATORS:
            operator = _OPERATORS[self.next(2)]
            self.at += 2
            return Name(f"operator{operator}", has_result=True)
        if self.take("cv"):
            return Name(f"operator {self.type().text}")
        raise NotReadableError

    def identifier(self) -> Name:
        digits = self.digits()
        if not digits:
            raise NotReadableError
        length = int(digits[:6])
        text = self.next(length)
        if len(text) < length or not length:
            raise NotReadableError
        self.at += length
        if text.startswith(("_GLOBAL__N", "_GLOBAL_.N", "_GLOBAL_$N")):
            text = "(anonymous namespace)"
        bare = text
        while self.take("B"):
            tag = self.identifier().text
            text += f"[abi:{tag}]"
        return Name(text, bare, has_result=True)

    def lambda_(self) -> Name:
        outer, self.scope = self.scope, None
        parameters = self.parameters()
        self.need("E")
        self.scope = outer
        place = self.number("0123456789")
        return Name(f"{{lambda{parameters}#{place + 1}}}", has_result=True)

    def local(self) -> Name:
        """Reads the name of something that is declared inside a function."""
        self.need("Z")
        function = self.encoding(drop_result=True)
        self.need("E")
        if self.take("s"):
            self.discriminator()
            return Name(f"{function}::string literal")
        if self.next() == "d":
            raise NotReadableError  # in a default argument
        name = self.name()
        self.discriminator()
        return replace(name, text=f"{function}::{name.text}")

    def discriminator(self) -> None:
        if self.take("__"):
            self.digits()
            self.need("_")
        elif self.next() == "_" and self.next(2)[1:] in _DIGITS:
            self.at += 2

    def qualifiers(self) -> str:
        begin = self.at
        while self.next() and self.next() in "rVK":
            self.at += 1
        return self.mangled[begin : self.at]

    # template arguments, and what was read before

    def arguments(self) -> list[Type]:
        self.need("I")
        outer = self.element
        self.element = None
        arguments = []
        while not self.take("E"):
            arguments.append(self.argument())
        self.element = outer
        return arguments

    def argument(self) -> Type:
        if self.take("J"):
            packed = []
            while not self.take("E"):
                packed.append(self.argument())
            return Type("", expanded=tuple(packed))
        if self.next() == "L":
            return self.literal()
        if self.next() == "X":
            raise NotReadableError
        return self.type()

    def literal(self) -> Type:
        self.need("L")
        if self.next() == "_":
            raise NotReadableError  # the address of a function
        type_ = self.type().text
        sign = "-" if self.take("n") else ""
        value = self.digits()
        self.need("E")
        if not value:
            raise NotReadableError
        if type_ == "bool" and value in "01":
            return Type("true" if value == "1" else "false")
        if type_ in LITERAL_ENDS:
            return Type(f"{sign}{value}{LITERAL_ENDS[type_]}")
        return Type(f"({type_}){sign}{value}")

    def template_parameter(self) -> Type:
        self.need("T")
        place = self.number("0123456789")
        self.parameters_read += 1
        if self.scope is None:
            return Type(f"auto:{place + 1}")
        if place >= len(self.scope):
            raise NotReadableError
        parameter = self.scope[place]
        if not parameter.is_pack or self.element is None:
            return parameter
        assert parameter.expanded is not None
        return parameter.expanded[self.element] if self.element < len(parameter.expanded) else Type("")

    def substitution(self) -> Type:
        """Reads a substitution, which stands for what was read before or for one of the abbreviations of the standard
        library."""
        self.need("S")
        if self.next() in _ABBREVIATIONS and self.next() != "t":
            text = _ABBREVIATIONS[self.next()]
            self.at += 1
            return Type(text)
        place = self.number("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if place >= len(self.substitutions):
            raise NotReadableError
        substitution = self.substitutions[place]
        return self.read_again(substitution) if substitution.names_parameters else substitution.type

    def read_again(self, substitution: Substitution) -> Type:
        """Reads again a type that names template parameters, with the arguments of the current scope."""
        self.parameters_read += 1
        if substitution.scope is self.scope and self.scope is not None:
            return substitution.type
        back, self.at, outer, self.again = self.at, substitution.begin, self.again, True
        bare = self.next() == "T" and self.mangled.find("_", self.at) + 1 == substitution.end
        type_ = self.template_parameter() if bare else self.type()
        if self.at != substitution.end:
            raise NotReadableError
        self.at, self.again = back, outer
        return type_

    # types

    def type(self) -> Type:
        self.depth += 1
        self.types_read += 1
        if self.depth > DEEPEST or self.types_read > MOST_TYPES:
            raise NotReadableError
        type_ = self.any_type()
        self.depth -= 1
        return type_

    def any_type(self) -> Type:
        begin, read = self.at, self.parameters_read

        def keep(type_: Type) -> Type:
            return self.keep(type_, begin, read)

        for length in (1, 2, 5):
            if self.next(length) in BUILTIN:
                self.at += length
                return Type(BUILTIN[self.mangled[self.at - length : self.at]])
        qualifiers = self.qualifiers()
        if qualifiers:
            return keep(qualified(self.type(), qualifiers))
        char = self.next()
        if char == "S" and self.next(2) != "St":
            type_ = self.substitution()
            return keep(self.template(type_)) if self.next() == "I" else type_
        if char == "D":
            return keep(self.pack_expansion())
        if char == "T":
            type_ = keep(self.template_parameter())
            return keep(self.template(type_)) if self.next() == "I" else type_
        if char in _TYPES:
            self.at += 1
            return keep(_TYPES[char](self))
        if char in ("N", "Z") or char in _DIGITS or self.next(2) == "St":
            return keep(Type(self.name().text))
        raise NotReadableError

    def template(self, type_: Type) -> Type:
        return Type(bounded(type_.text + in_angles(self.arguments())))

    def array(self) -> Type:
        size = self.digits()
        self.need("_")
        return array_of(self.type(), size)

    def function(self) -> Type:
        self.take("Y")
        result = self.type()
        parameters = self.parameters()
        self.need("E")
        return function_of(result, parameters)

    def vendor(self) -> Type:
        name = self.identifier().text
        return Type(name + in_angles(self.arguments())) if self.next() == "I" else Type(name)

    def pack_expansion(self) -> Type:
        """Reads a pattern once for each element of the pack in it."""
        self.need("Dp")
        begin, count, outer = self.at, len(self.substitutions), self.element  # each element counts as the first did
        packs = [each for each in self.scope or () if each.expanded is not None]
        if len(packs) != 1 or self.scope is None:
            raise NotReadableError
        elements, read = packs[0].expanded or (), []
        for place in range(max(len(elements), 1)):
            self.at, self.element = begin, place
            del self.substitutions[count:]
            read.append(self.type())
        self.element = outer
        return Type("", expanded=tuple(read[: len(elements)]))


_TYPES: dict[str, Callable[[Parser], Type]] = {
    "P": lambda parser: pointing(parser.type(), "*"),
    "R": lambda parser: pointing(parser.type(), "&"),
    "O": lambda parser: pointing(parser.type(), "&&"),
    "A": Parser.array,
    "F": Parser.function,
    "u": Parser.vendor,
}


def bounded(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        raise NotReadableError
    return text


def last_component(text: str) -> str:
    """Returns the last component of a qualified name, without its template arguments."""
    depth, end = 0, len(text)
    for place in range(len(text) - 1, -1, -1):
        char = text[place]
        depth += (char in ">)}") - (char in "<({")
        if depth == 0 and char == "<":
            end = place
        if depth == 0 and text[place : place + 2] == "::":
            return text[place + 2 : end]
    return text[:end]
