"""Values of a policy as attributes and options of XML, both ways.

What a policy names in a fixed place is an attribute of the element (``TABLES`` of the modules beside this one); any
other key is an ``<option>`` that keeps the type of its value. Numbers with a fraction are read as exact decimals;
``binary`` makes floats of those that a float shows as they are written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from lxml import etree

from sqlanon.errors import Fault
from sqlanon.interop.anon.definition_schema import note
from sqlanon.parameters import is_number

WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,999})")
LARGEST_WHOLE = 10**18
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
"""What an option without a type is a number by: the numbers of JSON. Other digits, as in 01234, are a text."""
NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even as a reference (section 2.2)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of one kind are read from an attribute and written to one; None when a value is of another kind."""

    read: Callable[[str], Any]
    write: Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class XmlAttribute:
    """The attribute of an element that holds a key of a policy."""

    name: str
    kind: Kind


Table = Mapping[str, XmlAttribute]
"""The attributes of an element, by key of a policy."""


def table(**kinds: Kind) -> Table:
    """Return attributes that are called like their keys, with a dash for an underscore.

    >>> table(time_limit=NUMBER)["time_limit"].name
    'time-limit'
    """
    return {key: XmlAttribute(key.replace("_", "-"), kind) for key, kind in kinds.items()}


def number_read(text: str) -> Any:
    """Return a whole number, or an exact decimal.

    >>> number_read("5"), number_read(" 0.50 ")
    (5, Decimal('0.50'))
    """
    return int(text) if WHOLE_NUMBER.fullmatch(text.strip()) else Decimal(text.strip())


def number_written(value: Any) -> str | None:
    """Return a finite number as text that is read back as it is."""
    if not is_number(value):
        return None
    text = str(Decimal(repr(value)) if isinstance(value, float) else value)
    return f"{text}.0" if isinstance(value, float) and WHOLE_NUMBER.fullmatch(text) else text


def _whole_written(value: Any) -> str | None:
    fits = number_written(value) is not None and abs(value) < LARGEST_WHOLE and value == int(value)
    return str(int(value)) if fits else None


def _exact_read(text: str) -> Any:
    """Return a number if it is shown as it is written, otherwise the text: a policy takes both, to the last zero."""
    plain = text.strip()
    if WHOLE_NUMBER.fullmatch(plain):
        return int(plain)
    return Decimal(plain) if number_written(float(plain)) == plain else plain


def _exact_written(value: Any) -> str | None:
    if not isinstance(value, str):
        return number_written(value)
    try:
        return number_written(Decimal(value))
    except InvalidOperation:
        return None


def _list_written(value: Any, part: Callable[[Any], str | None]) -> str | None:
    parts = [part(item) for item in value] if isinstance(value, list | tuple) else [None]
    return None if None in parts else " ".join(filter(None, parts))


def _word_written(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"\w[\w.-]*", value) else None


TEXT = Kind(str, lambda value: value if isinstance(value, str) else None)
FLAG = Kind(lambda text: text == "true", lambda value: str(value).lower() if isinstance(value, bool) else None)
WHOLE = Kind(int, _whole_written)
NUMBER = Kind(number_read, number_written)
EXACT = Kind(_exact_read, _exact_written)
WORDS = Kind(str.split, lambda value: _list_written(value, _word_written))
WHOLES = Kind(lambda text: [int(part) for part in text.split()], lambda value: _list_written(value, _whole_written))


def binary(value: Any) -> Any:
    """Return a document with floats for the decimals that floats show as they are written; others stay exact.

    >>> binary({"t": Decimal("0.3"), "u": Decimal("0.1234567890123456789")})
    {'t': 0.3, 'u': Decimal('0.1234567890123456789')}
    """
    return with_decimals(value, lambda number: float(number) if _shown_by_float(number) else number)


def with_decimals(value: Any, replaced: Callable[[Decimal], Any]) -> Any:
    """Return a document with each of its decimals replaced."""
    if isinstance(value, Mapping):
        return {key: with_decimals(item, replaced) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_decimals(item, replaced) for item in value]
    return replaced(value) if isinstance(value, Decimal) else value


def needs_decimals(value: Any) -> bool:
    """Return True if ``binary`` would turn some decimal of a document into a float."""
    if isinstance(value, Mapping):
        return any(map(needs_decimals, value.values()))
    if isinstance(value, list | tuple):
        return any(map(needs_decimals, value))
    return isinstance(value, Decimal) and not WHOLE_NUMBER.fullmatch(str(value)) and _shown_by_float(value)


def _shown_by_float(value: Decimal) -> bool:
    near = float(value)
    return math.isfinite(near) and Decimal(repr(near)) == value


# -- reading ----------------------------------------------------------------------------------------------------------


def read_mapping(
    element: etree._Element, known: Table, faults: list[Fault], *, taken: Collection[str] = ()
) -> dict[str, Any]:
    """Return the keys that the attributes of ``known`` and options of an element hold; no option is in ``taken``."""
    keys = {attribute.name: (key, attribute.kind) for key, attribute in known.items()}
    found = {}
    for name, text in element.attrib.items():  # in their order: equal policies, equal fingerprints
        if str(name) in keys:
            key, kind = keys[str(name)]
            found[key] = kind.read(str(text))
    return _with_options(element, found, faults, taken)


def _with_options(
    element: etree._Element, keys: dict[str, Any], faults: list[Fault], taken: Collection[str] = ()
) -> dict[str, Any]:
    for option in element.iterchildren("option"):
        name = str(option.get("name"))
        if name in keys or name in taken:
            message = f"The option {name!r} stands twice, or has an attribute or an element of its own."
            note(faults, option, message, "remove it.")
        keys[name] = _option_value(option, faults)
    return keys


READERS: Mapping[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "number": (PLAIN_NUMBER, number_read),
    "flag": (re.compile("true|false"), FLAG.read),
    "text": (re.compile(r"(?s).*"), str),
}
"""Types of options that have a value: how it looks and how it is read. Without a type, the first that fits."""


def _inferred(text: str) -> str:
    return next(kind for kind, (looks, _) in READERS.items() if looks.fullmatch(text))


def _option_value(element: etree._Element, faults: list[Fault]) -> Any:
    """Return the value of an option or of an item of a list."""
    text, inside = element.get("value"), {str(child.tag) for child in element}
    nested = "list" if "item" in inside else "mapping" if inside else None
    kind = element.get("type") or nested or ("" if text is None else _inferred(text))
    if text is not None and not inside and kind in READERS:
        looks, read = READERS[kind]
        if looks.fullmatch(text):
            return read(text)
    if text is None and nested in (None, kind):
        if kind == "mapping":
            return _with_options(element, {}, faults)
        if kind == "list":
            return [_option_value(item, faults) for item in element]
        if kind == "null":
            return None
    message = "The value and the type of this option do not belong together, or there is none."
    hint = 'give value="…", with type="text" for a text that looks like a number.'
    note(faults, element, message, hint)
    return None


# -- writing ----------------------------------------------------------------------------------------------------------


def put(element: etree._Element, attribute: str, text: str, key: str, faults: list[Fault]) -> None:
    """Set an attribute; what XML cannot hold is a fault of ``key``."""
    if NO_CHARACTER.search(text):
        message = "A text has a control character, which XML cannot hold."
        faults.append(Fault(key, message, "remove such characters, or keep the policy as YAML."))
    else:
        element.set(attribute, text)


def write_mapping(
    element: etree._Element, values: Mapping[Any, Any], known: Table, key: str, faults: list[Fault]
) -> None:
    """Write ``values`` as the attributes of ``known``, and what does not fit there as options."""
    for name, value in items(values, key, faults):
        attribute = known.get(name)
        if attribute is not None and value is None:
            continue  # the default: the same as leaving it out
        text = None if attribute is None else attribute.kind.write(value)
        if attribute is None or text is None:
            _write_option(etree.SubElement(element, "option"), value, f"{key}.{name}", faults, name=name)
        else:
            put(element, attribute.name, text, f"{key}.{name}", faults)


def mapping(value: Any, key: str, faults: list[Fault]) -> Mapping[Any, Any]:
    """Return ``value`` if it is a mapping; None is an empty one, and anything else a fault."""
    if isinstance(value, Mapping):
        return value
    if value is not None:
        faults.append(Fault(key, "This is not a mapping.", "write key: value pairs."))
    return {}


def listed(value: Any, key: str, faults: list[Fault]) -> Sequence[Any]:
    """Return ``value`` if it is a list; None is an empty one, and anything else a fault."""
    if isinstance(value, list | tuple):
        return value
    if value is not None:
        faults.append(Fault(key, "This is not a list.", "write [item, item]."))
    return ()


def items(values: Mapping[Any, Any], key: str, faults: list[Fault]) -> Iterator[tuple[str, Any]]:
    """Yield the pairs of a mapping; its keys are texts, but for ``null``, which YAML reads as none."""
    for name, value in values.items():
        if name is None or isinstance(name, str):
            yield "null" if name is None else name, value
        else:
            faults.append(Fault(key, "A key is not a text.", "put it in quotes."))


def _write_option(
    element: etree._Element, value: Any, key: str, faults: list[Fault], *, name: str | None = None
) -> None:
    """Write a value as an option, or, without a name, as an item of a list."""
    if name is not None:
        put(element, "name", name, key, faults)
    if isinstance(value, Mapping):
        for inner, item in items(value, key, faults):
            _write_option(etree.SubElement(element, "option"), item, f"{key}.{inner}", faults, name=inner)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _write_option(etree.SubElement(element, "item"), item, f"{key}[{number}]", faults)
    if (kind := _empty(value)) is not None:
        element.set("type", kind)
    elif not len(element):
        _write_scalar(element, value, key, faults)


def _empty(value: Any) -> str | None:
    """Return the type of a value that nothing shows."""
    kinds = {"null": value is None, "mapping": value == {}, "list": value in ([], ())}
    return next((kind for kind, is_it in kinds.items() if is_it), None)


def _write_scalar(element: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    written = [kind.write(value) for kind in (FLAG, NUMBER, TEXT)]
    text = next((text for text in written if text is not None), None)
    if text is None or (not isinstance(value, str) and _inferred(text) == "text"):
        message = "This value has no form in a definition."
        faults.append(
            Fault(key, message, "give a number that is not too long, true or false, a text, or a list of these.")
        )
        return
    put(element, "value", text, key, faults)
    if isinstance(value, str) and _inferred(text) != "text":
        element.set("type", "text")
