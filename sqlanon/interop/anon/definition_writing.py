"""Writing an ANON definition: the document of a policy as XML that its schema accepts.

Every key has a place: what the schema knows is an attribute or an element, anything else an ``<option>``. Strategy and
measure are always spelled out, since they have other defaults in a definition than in a policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lxml import etree

from sqlanon.core.policy.facts import ROLES
from sqlanon.errors import Fault, PolicyError
from sqlanon.interop.anon import definition_words as words
from sqlanon.interop.anon.definition_opening import opened
from sqlanon.interop.anon.definition_schema import validate
from sqlanon.interop.anon.definition_values import items, listed, mapping, needs_decimals, put, write_mapping
from sqlanon.interop.anon.tree_writing import write_hierarchy


def write_definition(document: Mapping[str, Any]) -> bytes:
    """Return the ANON definition (UTF-8) of a policy's document; ``read_definition`` gives an equal policy.

    Raises:
        PolicyError: the document is no policy, or holds what XML cannot; faults name keys, never values.
        InputError: the result is too large.
    """
    faults: list[Fault] = []
    root = _definition(document, faults)
    if faults:
        raise PolicyError(faults)
    data: bytes = etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")
    try:
        validate(opened(data, "definition"))
    except PolicyError as error:
        found = [Fault(fault.key.partition(": ")[2] or fault.key, fault.message, fault.hint) for fault in error.faults]
        raise PolicyError(found) from None
    return data


def _definition(document: Mapping[str, Any], faults: list[Fault]) -> etree._Element:
    root = etree.Element("definition")
    put(root, "version", str(document.get("version", 1)), "version", faults)
    if needs_decimals(document):
        root.set("numbers", "decimal")
    _parameters(etree.SubElement(root, "parameters"), document, faults)
    _datasources(etree.SubElement(root, "datasources"), document, faults)
    _output(etree.SubElement(root, "output"), document, faults)
    attributes, hierarchies = etree.SubElement(root, "attributes"), etree.SubElement(root, "hierarchies")
    put(attributes, "undeclared", str(document.get("undeclared", "error")), "undeclared", faults)
    for key in ("entity", "row_security"):
        if document.get(key) is not None:
            put(attributes, key, str(document[key]), key, faults)
    names: dict[bytes, str] = {}
    for name, column in items(mapping(document.get("columns"), "columns", faults), "columns", faults):
        given = mapping(column, f"columns.{name}", faults)
        hierarchy = given.get("hierarchy")
        reference = None if hierarchy is None else _shared(hierarchies, name, hierarchy, names, faults)
        _column(attributes, name, given, reference, faults)
    return root


# -- sections ---------------------------------------------------------------------------------------------------------


def _parameters(section: etree._Element, document: Mapping[str, Any], faults: list[Fault]) -> None:
    _models(etree.SubElement(section, "privacy"), document.get("privacy"), "privacy", faults)
    for key in words.PARAMETERS:
        if key in words.SETTINGS:
            given = mapping(document.get(key), key, faults)
            given = {name: value for name, value in given.items() if value is not None}
            if meant := {**words.POLICY_DEFAULTS.get(key, {}), **given}:
                write_mapping(etree.SubElement(section, key), meant, words.SETTINGS[key], key, faults)
        elif document.get(key) is not None:
            tag, attribute, kind = words.SIMPLE[key]
            text = kind.write(document[key])
            if text is None:
                faults.append(Fault(key, "This value is of another kind than is needed.", "see the keys of a policy."))
            else:
                put(etree.SubElement(section, tag), attribute, text, key, faults)
    others = {key: value for key, value in document.items() if key not in words.TOP_KEYS}
    options = {k: v for k, v in others.items() if k in words.NESTED_OPTIONS or not isinstance(v, Mapping)}
    write_mapping(section, options, {}, "policy", faults)


def _models(parent: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    for number, item in enumerate(listed(value, key, faults)):
        here = f"{key}[{number}]"
        given = dict(mapping(item, here, faults))
        kind, subset = str(given.pop("type", "")), given.pop("subset", None)
        known = words.MODELS.get(kind)
        element = etree.SubElement(parent, "model" if known is None else kind.replace("_", "-"))
        if known is None:
            put(element, "type", kind, here, faults)
        if subset is not None:
            _subset(etree.SubElement(element, "subset"), subset, f"{here}.subset", faults)
        write_mapping(element, given, known or {}, here, faults)


def _subset(element: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    given = {"file": value} if isinstance(value, str) else mapping(value, key, faults)
    kinds = [kind for kind in words.SUBSETS if kind in given]
    if len(kinds) != 1:
        message = "This does not name exactly one subset."
        faults.append(Fault(key, message, "write {file: …}, {table: …} or {column: …}."))
        return
    write_mapping(etree.SubElement(element, kinds[0]), given, words.SUBSETS[kinds[0]], key, faults)


def _datasources(section: etree._Element, document: Mapping[str, Any], faults: list[Fault]) -> None:
    formats = {k: v for k, v in document.items() if k == "csv" or k not in (*words.TOP_KEYS, *words.NESTED_OPTIONS)}
    source = {key: document[key] for key in words.SOURCE if document.get(key) is not None}
    formats = {key: value for key, value in formats.items() if isinstance(value, Mapping)}
    patterns = document.get("files")
    patterns = [patterns] if isinstance(patterns, str) else listed(patterns, "files", faults)
    if source or formats or patterns:
        element = etree.SubElement(section, "datasource")
        write_mapping(element, source, words.SOURCE, "source", faults)
        for number, pattern in enumerate(patterns):
            put(etree.SubElement(element, "files"), "pattern", str(pattern), f"files[{number}]", faults)
        _formats(element, formats, "", faults)
    for number, item in enumerate(listed(document.get("join"), "join", faults)):
        key = f"join[{number}]"
        given = dict(items(mapping(item, key, faults), key, faults))
        element = etree.SubElement(section, "join")
        _key(element, given.pop("key", None), f"{key}.key", faults)
        formats = {name: value for name, value in given.items() if isinstance(value, Mapping)}
        _formats(element, formats, f"{key}.", faults)
        write_mapping(element, {k: v for k, v in given.items() if k not in formats}, words.JOIN, key, faults)


def _key(element: etree._Element, value: Any, key: str, faults: list[Fault]) -> None:
    """Write the key of a join: one column, a list of columns, or pairs of columns."""
    if isinstance(value, str):
        put(element, "key", value, key, faults)
        return
    pairs = list(value.items() if isinstance(value, Mapping) else ((name, None) for name in listed(value, key, faults)))
    for column, joined in pairs:
        child = etree.SubElement(element, "key")
        for attribute, name in (("column", column), ("joined", joined)):
            if isinstance(name, str):
                put(child, attribute, name, key, faults)
            elif name is not None or attribute == "column":
                faults.append(Fault(key, "A key column's name is not a text.", "put it in quotes."))


def _formats(element: etree._Element, formats: Mapping[str, Any], prefix: str, faults: list[Fault]) -> None:
    """Write options of file formats; those that have elements of their own come first, as the schema wants it."""
    for name in sorted(formats, key=lambda name: [*words.FORMATS, name].index(name)):
        own = name in words.FORMATS
        child = etree.SubElement(element, name if own else "format")
        if not own:
            put(child, "name", name, f"{prefix}{name}", faults)
        write_mapping(child, formats[name], words.FORMATS.get(name, {}), f"{prefix}{name}", faults)


def _output(section: etree._Element, document: Mapping[str, Any], faults: list[Fault]) -> None:
    given = dict(mapping(document.get("output"), "output", faults))
    owner, readers, mode = (given.pop(key, None) for key in ("owner", "readers", "mode"))
    for kind, target in given.items():
        tag = str(kind).replace("_", "-")
        if tag in words.OUTPUTS and isinstance(target, str):
            child = etree.SubElement(section, tag)
            put(child, words.OUTPUTS[tag], target, f"output.{kind}", faults)
            if owner is not None:
                put(child, "owner", str(owner), "output.owner", faults)
            if mode is not None:
                put(child, "mode", str(mode), "output.mode", faults)
            roles = [readers] if isinstance(readers, str) else listed(readers, "output.readers", faults)
            for number, reader in enumerate(roles):
                put(etree.SubElement(child, "reader"), "name", str(reader), f"output.readers[{number}]", faults)
        else:
            hint = "write {file: …}, {table: …}, {view: …} or {live_view: …}."
            faults.append(Fault("output", "This is no target.", hint))
    if document.get("if_exists") is not None:
        put(section, "if-exists", str(document["if_exists"]), "if_exists", faults)


def _column(
    section: etree._Element, name: str, given: Mapping[str, Any], reference: str | None, faults: list[Fault]
) -> None:
    key = f"columns.{name}"
    role = str(given.get("role"))
    if role not in words.ROLES:
        message = f"A definition has no columns of the role {role}." if role in ROLES else "This role is not known."
        faults.append(Fault(f"{key}.role", message, f"choose one of {', '.join(words.ROLES)}."))
        return
    element = etree.SubElement(section, words.ROLES[role])
    put(element, "name", name, key, faults)
    if reference is not None:
        put(element, "hierarchy", reference, key, faults)
    _models(element, given.get("models"), f"{key}.models", faults)
    rest = {item: value for item, value in given.items() if item not in ("role", "hierarchy", "models")}
    write_mapping(element, rest, words.ATTRIBUTE, key, faults)


def _shared(section: etree._Element, name: str, value: Any, names: dict[bytes, str], faults: list[Fault]) -> str:
    """Return the name of a hierarchy; one that another column has already is not written again."""
    element = etree.Element("hierarchy")
    write_hierarchy(element, value, f"columns.{name}.hierarchy", faults)
    found = names.setdefault(etree.tostring(element), name)
    if found == name:
        put(element, "name", name, f"columns.{name}", faults)
        section.append(element)
    return found
