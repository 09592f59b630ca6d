"""The reference of a policy: an entry for each key, privacy model, hierarchy and transformation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlanon.commands.reference.about import HIERARCHIES, Owner, default_of, models_of, parameters_of, sentence_of
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.extensions import NOTHING, Extensions, found
from sqlanon.core.policy.facts import TOP_KEYS, PolicyFacts
from sqlanon.core.policy.hierarchies import WITH_ONE_VALUE, WITH_OPTIONS
from sqlanon.core.policy.transformation import KEYS as TRANSFORMATIONS
from sqlanon.core.policy.transformation import KINDS, TYPE
from sqlanon.counts.keys import KEYS as COUNTS_KEYS
from sqlanon.counts.keys import CountsFacts
from sqlanon.parameters import Parameter, ValueCheck, find
from sqlanon.tables.keys import KEYS as TABLES_KEYS
from sqlanon.tables.keys import OUTPUT_KEYS, TABLE_KEYS

EXAMPLES = {
    "xml": "xml: {record: ward}",
    "excel": "excel: {sheet: Patients}",
    "sas": "sas: {encoding: latin-1}",
    "spss": "spss: {labels: false}",
    "stata": "stata: {labels: false}",
}
"""Formats of files that the package brings, with an example of their options."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Where the records are": ("version", "source", "files", "table", "csv", *EXAMPLES, "join"),
    "What the columns are": (
        "columns", "entity", "key", "sample", "accept", "undeclared", "row_security", "uncovered", "publish",
    ),
    "How safe the release must be": (
        "privacy", "suppression_limit", "suppression_count", "nulls", "suppressed", "ledger", "like", "periods",
    ),
    "How the best release is found": ("quality", "search", "transformation", "engine"),
    "Where the release goes": ("output", "if_exists", "repeats", "report", "certificate"),
    "Several tables": ("tables",),
    "Tables of counts, in a document of their own": tuple(
        key.name for key in COUNTS_KEYS if key.name not in {known.name for known in TOP_KEYS}
    ),
}  # fmt: skip
"""The keys of a policy, and of a document of counts, by what they are about, in the order of the reference."""
SHOWN = {
    "levels": "diagnosis", "redact": "zip", "dates": "admission_date", "groups": "marital_status", "suppress": "sex",
    "ages": "birth", "prefix": "code", "frequent": "job", "codes": "diagnosis", "zip3": "zip",
}  # fmt: skip
"""The columns that examples of hierarchies are about."""
SAME = {("join", "csv"), ("ledger", "key")}
"""Keys below which the same keys stand as at the top of a policy."""
MODEL_PAGES = {"bounded_knowledge": "bounded-knowledge.md", "profile_k": "entities.md"}
"""Pages of privacy models that have one of their own."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """The entry of a reference for a key.

    Attributes:
        path: the keys that lead to it; names of columns and tables and places in lists are left out.
        about: what it means.
        label: its type, in words.
        required: it has no default.
        default: what holds without it, in words; empty where there is nothing to say.
        unit: of a number.
        words: of a choice: each word and what it means.
        example: lines of YAML, from the top of a policy.
        page: a page below ``docs``.
        chosen: a model, a hierarchy or a transformation, one of several that may stand in this place.
    """

    path: tuple[str, ...]
    about: str
    label: str
    required: bool = False
    default: str = ""
    unit: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    example: str = ""
    page: str = ""
    chosen: bool = False

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)


def entries(extensions: Extensions = NOTHING) -> tuple[KeyEntry, ...]:
    """Return all entries in the order of ``GROUPS``, each before those that stand below it."""
    formats = {name: found(extensions.format, name) for name in extensions.names("formats")}
    result: list[KeyEntry] = []
    for title, names in GROUPS.items():
        for name in names:
            if name in formats:
                result += _format(name, formats.pop(name))
            elif name == "tables":
                result += _of_tables()
            elif title.startswith("Tables of counts"):
                result += _of_key(find(COUNTS_KEYS, name), (), "counts.md", extensions, CountsFacts)
            else:
                result += _of_key(find(TOP_KEYS, name), (), "policy.md", extensions, PolicyFacts)
    for name, extension in formats.items():
        result += _format(name, extension)
    return tuple(result)


def below(path: Sequence[str], known: Sequence[KeyEntry]) -> list[KeyEntry]:
    """Return the entries that stand one step below a path."""
    return [entry for entry in known if entry.path[:-1] == tuple(path)]


def _of_key(
    parameter: Parameter, path: tuple[str, ...], page: str, extensions: Extensions, owner: Owner = None
) -> Iterator[KeyEntry]:
    """Yield the entry of a key, and those of the keys below it."""
    entry = _entry(parameter, path, page, owner, extensions)
    yield entry
    check = parameter.check
    if not isinstance(check, ValueCheck):
        return
    for inner in check.keys if entry.path not in SAME else ():
        yield from _of_key(inner, entry.path, entry.page, extensions, check.part)
    if check.kind in ("models", "column_models"):
        yield from _models(entry.path, entry.page, extensions, watching=check.kind == "column_models")
    elif check.kind == "hierarchy":
        yield from _hierarchies(entry.path, extensions)
    elif check.kind == "transformation":
        yield _entry(TYPE, entry.path, entry.page, None, extensions)
        for name, about in _words(TYPE, extensions).items():
            example = f"transformation: {{type: {name}}}"
            yield KeyEntry(
                (*entry.path, name), _sentence(about), "mapping", example=example, page=entry.page, chosen=True
            )
            for inner in TRANSFORMATIONS[name]:
                yield from _of_key(inner, (*entry.path, name), entry.page, extensions, KINDS[name])


def _entry(parameter: Parameter, path: tuple[str, ...], page: str, owner: Owner, extensions: Extensions) -> KeyEntry:
    check = parameter.check
    label = check.label if isinstance(check, ValueCheck) else "as its package says"
    default = parameter.default
    if not default and (value := default_of(owner, parameter.name)) is not None:
        default = written_value(value)
    return KeyEntry(
        (*path, parameter.name),
        parameter.about,
        label,
        parameter.required,
        default,
        parameter.unit,
        _words(parameter, extensions),
        _example(parameter, path),
        parameter.page or page,
    )


def _words(parameter: Parameter, extensions: Extensions) -> Mapping[str, str]:
    """Return the words that a key may be, with what they mean."""
    check = parameter.check
    if not isinstance(check, ValueCheck):
        return {}
    if check.kind == "measures":
        return {name: sentence_of(found(extensions.measure, name)) for name in extensions.names("measures")}
    if check.kind == "strategies":
        own = {name: sentence_of(_strategy(extensions, name)) for name in extensions.names("strategies")}
        return {"auto": "the default: box", **own}
    return check.words


def _strategy(extensions: Extensions, name: str) -> Any:
    named = found(extensions.strategy, name)
    return None if named is None else named[1]


def _example(parameter: Parameter, path: Sequence[str]) -> str:
    """Return the example of a key, put below the keys that lead to it."""
    written = parameter.example
    if not written or written.startswith(f"{(*path, parameter.name)[0]}: "):
        return written
    line = f"{_key(parameter.name)}: {written}"
    if path[:1] == ("columns",):
        return f"columns: {{age: {{{line}}}}}"
    for name in reversed(path):
        line = f"{name}: {{{line}}}"
    return line


def _models(path: tuple[str, ...], page: str, extensions: Extensions, *, watching: bool) -> Iterator[KeyEntry]:
    for name, kind in models_of(extensions, watching=watching):
        parameters = parameters_of(kind)
        own = MODEL_PAGES.get(name, page)

        def example(*more: Parameter, name: str = name, known: Sequence[Parameter] = parameters) -> str:
            given = [each for each in known if each.required or each in more]
            written = next((each.example for each in (*more, *known) if each.example.startswith("privacy: ")), "")
            model = ", ".join([f"type: {name}", *(f"{each.name}: {each.example}" for each in given)])
            one = f"columns: {{diagnosis: {{role: sensitive, models: [{{{model}}}]}}}}"
            return written or (one if watching else f"privacy: [{{{model}}}]")

        yield KeyEntry((*path, name), sentence_of(kind), "model", example=example(), page=own, chosen=True)
        for parameter in parameters:
            yield replace(_entry(parameter, (*path, name), own, kind, extensions), example=example(parameter))


def _hierarchies(path: tuple[str, ...], extensions: Extensions) -> Iterator[KeyEntry]:
    for kind in specs.KINDS:
        spec = HIERARCHIES[kind]
        page = "policy.md#files" if kind in ("file", "table", "levels") else "hierarchies.md"
        label = spec.value.label if kind in WITH_ONE_VALUE else "mapping" if kind in WITH_OPTIONS else "text"
        if kind in specs.LISTED_OPTION:
            label += f", or {specs.LISTED_OPTION[kind]} alone"
        example = _hierarchy(kind, f"{kind}: {spec.example}")
        yield KeyEntry((*path, kind), sentence_of(spec), label, example=example, page=page, chosen=True)
        for option in getattr(spec, "options", ()):
            if option.name == kind:
                continue  # the path of a file, beside which its options stand
            needed = getattr(spec, "one_of", ())
            first = "" if option.name in needed else next(iter(needed), "")
            given = [each for each in spec.options if each.required or each is option or each.name == first]
            inner = ", ".join(f"{_key(each.name)}: {each.example}" for each in given)
            entry = _entry(option, (*path, kind), page, spec, extensions)
            yield replace(entry, example=_hierarchy(kind, f"{kind}: {{{inner}}}" if kind in WITH_OPTIONS else inner))
    for name in extensions.names("hierarchies"):
        builder = found(extensions.builder, name)
        yield KeyEntry((*path, name), sentence_of(builder), "mapping", page="extending.md", chosen=True)
        for parameter in parameters_of(builder):
            yield _entry(parameter, (*path, name), "extending.md", builder, extensions)


def _key(name: str) -> str:
    """Return a key as every reader of YAML takes it for a text."""
    return f'"{name}"' if name == "null" else name


def _hierarchy(kind: str, inner: str) -> str:
    name = SHOWN.get(kind, "age")
    return f"columns: {{{name}: {{role: quasi_identifier, hierarchy: {{{inner}}}}}}}"


def _format(name: str, extension: Any) -> Iterator[KeyEntry]:
    about = f"How files of the format {name} are read."
    yield KeyEntry((name,), about, "mapping", example=EXAMPLES.get(name, ""), page="policy.md")
    for parameter in tuple(getattr(extension, "options", ())):
        yield _entry(parameter, (name,), "policy.md", None, NOTHING)


def _of_tables() -> Iterator[KeyEntry]:
    """Yield the entries of what only a policy of several tables has."""
    page = "tables.md"
    yield _entry(find(TABLES_KEYS, "tables"), (), page, None, NOTHING)
    for name in ("key", "parent"):
        yield _entry(find(TABLE_KEYS, name), ("tables",), page, None, NOTHING)
    for name in ("folder", "format"):
        yield _entry(find(OUTPUT_KEYS, name), ("output",), page, None, NOTHING)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def written_value(value: Any) -> str:
    """Return a value as YAML has it on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(written_value, value))}]"
    if isinstance(value, str):
        return value if value.replace("_", "").replace("-", "").isalnum() else f'"{value}"'
    return f"{value:g}"
