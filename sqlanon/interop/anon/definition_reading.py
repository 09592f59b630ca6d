"""Reading an ANON definition: the XML document as the document of a policy.

The result holds the keys of a policy file and nothing is checked but what the schema requires and what XML Schema
cannot express; the rest is checked when the policy is read. docs/definition.md explains the format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from sqlanon.errors import Fault, InputError, PolicyError
from sqlanon.interop.anon import definition_words as words
from sqlanon.interop.anon.definition_opening import LARGEST, opened
from sqlanon.interop.anon.definition_schema import note, validate
from sqlanon.interop.anon.definition_values import NUMBER, Table, binary, read_mapping

Rows = list[tuple[str | None, ...]]


def read_definition(path: Path) -> dict[str, Any]:
    """Return the document of the policy that an ANON definition stands for; relative paths stay as they are.

    Raises:
        InputError: the file cannot be read, is too large, has a DOCTYPE, or is not well-formed.
        PolicyError: it is no definition; ``faults`` are all that the schema finds, each with its line.
    """
    return parse_definition(_bytes(path), path.name)


def parse_definition(data: bytes, name: str) -> dict[str, Any]:
    """Return the same for a document in memory; ``name`` is its name in messages."""
    root = validate(opened(data, name))
    faults: list[Fault] = []
    document = _document(root, faults)
    if faults:
        raise PolicyError(faults)
    return document if root.get("numbers") == "decimal" else dict(binary(document))


def not_kept(path: Path) -> list[str]:
    """Return remarks on the parts of a definition that a policy does not have.

    Raises:
        InputError: the file cannot be read (as above).
    """
    definition = opened(_bytes(path), path.name)
    used = {attribute.get("hierarchy") for attribute in definition.root.iterfind("attributes/*")}
    unused = [
        item.get("name") for item in definition.root.iterfind("hierarchies/hierarchy") if item.get("name") not in used
    ]
    remarks = [f"The hierarchy {name!r} is left out: no attribute refers to it." for name in unused]
    return [*remarks, "Comments are left out."] if definition.comments else remarks


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(
            f"The definition {path.name!r} cannot be read: {error.strerror or 'it cannot be opened'}.",
            hint="check the path.",
        ) from None


def _document(root: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    """Return the keys of a policy, section by section."""
    parameters, sources, output, attributes, hierarchies = root
    trees = {str(item.get("name")): read_hierarchy(item, faults) for item in hierarchies}
    given = _parameters(parameters, faults)
    patterns = given.get("transformation", {}).get("type") == "patterns"
    for item in attributes.iterchildren("k-attribute"):
        if item.get("hierarchy") is None and not patterns:
            message = "The attribute 'hierarchy' is missing."
            note(faults, item, message, 'give hierarchy="…", the name of one.', attribute="hierarchy")
    return {
        "version": int(root.get("version", "1")),
        **_datasources(sources, faults),
        "columns": {str(item.get("name")): _column(item, trees, faults) for item in attributes},
        **({} if attributes.get("entity") is None else {"entity": attributes.get("entity")}),
        "undeclared": attributes.get("undeclared", "drop"),
        **({} if attributes.get("row_security") is None else {"row_security": attributes.get("row_security")}),
        **given,
        **_output(output),
    }


def _parameters(section: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    keys: dict[str, Any] = {"privacy": [_model(item, faults) for item in section[0]]}
    for key, (tag, attribute, kind) in words.SIMPLE.items():
        if (element := section.find(tag)) is not None:
            keys[key] = kind.read(str(element.get(attribute)))
    for key, known in words.SETTINGS.items():
        element = section.find(key)
        given = {} if element is None else read_mapping(element, known, faults)
        if given := {**words.DEFAULTS.get(key, {}), **given}:
            keys[key] = given
    return {**keys, **read_mapping(section, {}, faults, taken=words.TOP_KEYS)}


def _model(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    kind = str(element.get("type", element.tag.replace("-", "_")))
    own = element.get("type") is None
    subsets: dict[str, Any] = {}
    if (subset := element.find("subset")) is not None:
        [where] = subset
        subsets["subset"] = read_mapping(where, words.SUBSETS[str(where.tag)], faults)
    given = read_mapping(element, words.MODELS[kind] if own else {}, faults, taken=("type", "subset"))
    return {"type": kind, **given, **subsets}


def _datasources(section: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    source = section.find("datasource")
    keys = {} if source is None else _source(source, words.SOURCE, faults)
    if source is not None and (patterns := [item.get("pattern") for item in source.iterchildren("files")]):
        keys["files"] = patterns
    joins = [_join(item, faults) for item in section.iterchildren("join")]
    return {**keys, "join": joins} if joins else keys


def _source(element: etree._Element, known: Table, faults: list[Fault]) -> dict[str, Any]:
    keys = read_mapping(element, known, faults, taken=("key", *words.TOP_KEYS))
    for item in element.iterchildren(*words.FORMATS, "format"):
        name = str(item.get("name", item.tag))
        if name in keys or (item.tag == "format" and name in ("key", *words.TOP_KEYS)):
            note(faults, item, "This format stands twice, or is called like a key.", "remove it.")
        keys[name] = read_mapping(item, words.FORMATS[str(item.tag)] if item.tag != "format" else {}, faults)
    return keys


def _join(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    keys = _source(element, words.JOIN, faults)
    pairs = [(str(item.get("column")), item.get("joined")) for item in element.iterchildren("key")]
    single = element.get("key")
    if (single is None) == (not pairs):
        message = "The key of the join is missing, or is there twice."
        note(faults, element, message, 'give key="COLUMN", or elements <key column=…/>, not both.')
    if len({column for column, _ in pairs}) < len(pairs):
        note(faults, element, "A column of the key stands twice.", "list each once.")
    if any(joined is not None for _, joined in pairs):
        return {**keys, "key": {column: column if joined is None else joined for column, joined in pairs}}
    return {**keys, "key": [column for column, _ in pairs] if single is None else single}


def _output(section: etree._Element) -> dict[str, Any]:
    targets: dict[str, Any] = {}
    for item in section:
        tag = str(item.tag)
        targets[tag.replace("-", "_")] = item.get(words.OUTPUTS[tag])
        if (owner := item.get("owner")) is not None:
            targets["owner"] = owner
        if (mode := item.get("mode")) is not None:
            targets["mode"] = mode
        if len(item):
            targets["readers"] = [reader.get("name") for reader in item]
    keys: dict[str, Any] = {"output": targets or None, "if_exists": section.get("if-exists")}
    return {key: value for key, value in keys.items() if value is not None}


def _column(element: etree._Element, trees: Mapping[str, dict[str, Any]], faults: list[Fault]) -> dict[str, Any]:
    role = next(role for role, tag in words.ROLES.items() if tag == element.tag)
    keys = {"role": role, **read_mapping(element, words.ATTRIBUTE, faults, taken=words.COLUMN_KEYS)}
    models = [_model(item, faults) for item in element if item.tag != "option"]
    if models:
        keys["models"] = models
    if (name := element.get("hierarchy")) is not None:
        keys["hierarchy"] = trees[name]
    return keys


def read_hierarchy(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    """Return the hierarchy of a policy that an element stands for."""
    body = element[-1]
    hierarchy = HIERARCHIES.get(str(body.tag), _builder)(body, faults)
    levels = element.find("levels")
    if levels is None:
        return hierarchy
    for place, level in enumerate(levels):
        if level.get("number") is not None and int(str(level.get("number"))) != place:
            note(faults, level, f"This is level {place}.", "number the levels 0, 1, 2, …")
    return {**hierarchy, "information_loss": [NUMBER.read(str(level.get("information-loss"))) for level in levels]}


def _tree(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    leaves = list(_leaves(element, ()))
    return _levels(element, [row for row, _ in leaves], [leaf for _, leaf in leaves], faults)


def _leaves(element: etree._Element, above: tuple[str | None, ...]) -> Iterator[tuple[tuple[str | None, ...], Any]]:
    """Yield the rows of a tree (value, level 1, …, root) with the element of each value, in the document's order."""
    for child in element:
        path = (child.get("name"), *above)
        if len(child):
            yield from _leaves(child, path)
        else:
            yield path, child


def _rows(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    return _levels(element, [tuple(item.get("name") for item in row) for row in element], list(element), faults)


def _levels(
    element: etree._Element, rows: Rows, places: Sequence[etree._Element], faults: list[Fault]
) -> dict[str, Any]:
    """Return rows as ``levels``, if each value is there once and all have as many levels."""
    _even(list(map(len, rows)), places, faults)
    counts = Counter(row[0] for row in rows)
    twins = [number for number, row in enumerate(rows) if counts[row[0]] > 1]
    if twins:
        message = f"{len(twins)} values of this hierarchy are there more than once; the first is here."
        note(faults, places[twins[0]], message, "list each value once.")
    return {"levels": {row[0]: list(row[1:]) for row in rows}}


def _even(depths: Sequence[int], places: Sequence[etree._Element], faults: list[Fault]) -> None:
    usual = Counter(depths).most_common(1)[0][0] if depths else 0
    uneven = [number for number, depth in enumerate(depths) if depth != usual]
    if uneven:
        message = f"{len(uneven)} values of this hierarchy lie at another depth than the others; the first is here."
        note(faults, places[uneven[0]], message, "give every value as many levels.")


def _groups(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    leaves = list(element.iter("value", "null"))
    _even([sum(1 for _ in leaf.iterancestors("group")) for leaf in leaves], leaves, faults)
    return {"groups": _members(element, faults)}


def _members(element: etree._Element, faults: list[Fault]) -> Any:
    """Return a mapping of groups, or a list of values."""
    if element.find("group") is None:
        return [item.get("name") for item in element]
    groups: dict[str | None, Any] = {}
    for group in element:
        if group.get("name") in groups:
            note(faults, group, "Another group beside it has this name.", "join the two.")
        groups[group.get("name")] = _members(group, faults)
    return groups


def _builder(element: etree._Element, faults: list[Fault]) -> dict[str, Any]:
    kind = str(element.get("kind", element.tag))
    return {kind: read_mapping(element, words.BUILDERS[kind] if element.get("kind") is None else {}, faults)}


HIERARCHIES: Mapping[str, Callable[[etree._Element, list[Fault]], dict[str, Any]]] = {
    "tree": _tree,
    "rows": _rows,
    "groups": _groups,
    "file": lambda element, faults: read_mapping(element, words.FILE, faults),
    "table": lambda element, _: {"table": element.get("name")},
}
"""The kinds of hierarchy by their bodies; any other is a builder."""
