"""The words of definitions: which elements and attributes hold which keys of a policy."""

from __future__ import annotations

from collections.abc import Mapping

from sqlanon.interop.anon.definition_values import (
    EXACT,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    WHOLES,
    WORDS,
    Kind,
    Table,
    XmlAttribute,
    table,
)

SIMPLE: Mapping[str, tuple[str, str, Kind]] = {
    "suppression_limit": ("suppression-share", "value", EXACT),
    "suppression_count": ("suppression-count", "value", WHOLE),
    "suppressed": ("suppressed", "value", TEXT),
    "report": ("report", "path", TEXT),
    "nulls": ("nulls", "value", TEXT),
    "uncovered": ("uncovered", "value", TEXT),
}
"""Keys of a policy that are one element with one attribute in the section parameters."""

SETTINGS: Mapping[str, Table] = {
    "transformation": table(
        type=TEXT, solver=TEXT, nodes=WHOLE, hold=NUMBER, at_most=WHOLE, outliers=FLAG, ties=TEXT, seed=WHOLE
    ),
    "search": table(strategy=TEXT, time_limit=NUMBER, max_evaluations=WHOLE, gap=NUMBER, where=TEXT, on_interrupt=TEXT),
    "quality": table(measure=TEXT, aggregate=TEXT),
    "engine": table(name=TEXT, memory_limit=TEXT, threads=WHOLE, temp_directory=TEXT, master=TEXT),
}
"""Keys of a policy that are one element with several attributes there."""

PARAMETERS = (
    "suppression_limit", "suppression_count", "suppressed", "transformation", "search", "quality", "report", "nulls",
    "uncovered", "engine",
)  # fmt: skip
"""The keys of both, in the order of the schema; the element privacy stands before them, options after them."""

TOP_KEYS = (
    "version", "source", "files", "table", "csv", "join", "columns", "entity", "undeclared", "row_security", "privacy",
    "output", "if_exists", *PARAMETERS,
)  # fmt: skip
"""Keys of a policy with a place of their own; any other is the options of a file format, or an option."""

NESTED_OPTIONS = ("publish", "key")
"""Keys of a policy that are mappings, and options of a definition; any other mapping is that of a file format."""

DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "search": {"strategy": "anon"},
    "quality": {"measure": "weighted_information_loss"},
}
"""The defaults of a definition: what ANON did."""

POLICY_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "search": {"strategy": "auto"},
    "quality": {"measure": "loss"},
}
"""The defaults of a policy, which a definition always spells out."""

MODELS: Mapping[str, Table] = {
    "k_anonymity": table(k=WHOLE),
    "delta_presence": table(min=NUMBER, max=NUMBER, public_only=TEXT),
    "distinct_l_diversity": table(l=WHOLE),
    "entropy_l_diversity": table(l=NUMBER),
    "recursive_l_diversity": table(l=WHOLE, c=NUMBER),
    "t_closeness": table(t=NUMBER, distance=TEXT),
}
"""Models that have elements of their own, called like them with dashes; any other is a ``<model type=…>``."""

CSV = table(
    delimiter=TEXT,
    null=TEXT,
    quote=TEXT,
    encoding=TEXT,
    header=FLAG,
    skip=WHOLE,
    date_format=TEXT,
    timestamp_format=TEXT,
)
FORMATS: Mapping[str, Table] = {"csv": CSV, "xml": table(record=TEXT, null=TEXT)}
"""File formats that have elements of their own; any other is a ``<format name=…>``."""
SOURCE: Table = {"source": XmlAttribute("path", TEXT), "table": XmlAttribute("table", TEXT)}
JOIN: Table = {**SOURCE, **table(name=TEXT)}
SUBSETS: Mapping[str, Table] = {
    "file": {"file": XmlAttribute("path", TEXT), **CSV},
    "table": {"table": XmlAttribute("name", TEXT)},
    "column": {"column": XmlAttribute("name", TEXT)},
}
OUTPUTS: Mapping[str, str] = {"view": "name", "live-view": "name", "table": "name", "file": "path"}
"""Elements of targets, called like what a policy calls them with dashes."""

ROLES: Mapping[str, str] = {
    "quasi_identifier": "k-attribute",
    "sensitive": "l-attribute",
    "keep": "dontcare",
    "drop": "ignore",
}
COLUMN_KEYS = ("name", "role", "hierarchy", "models", "min_level", "max_level", "weight", "uncovered")
ATTRIBUTE: Table = {
    "min_level": XmlAttribute("minimum", WHOLE),
    "max_level": XmlAttribute("limit", WHOLE),
    "weight": XmlAttribute("priority", NUMBER),
    "uncovered": XmlAttribute("uncovered", TEXT),
}

FILE: Table = {"file": XmlAttribute("path", TEXT), **table(delimiter=TEXT, null=TEXT, encoding=TEXT, header=FLAG)}
BUILDERS: Mapping[str, Table] = {
    "redact": table(direction=TEXT, char=TEXT, steps=WHOLE, width=WHOLE),
    "intervals": table(width=EXACT, fanouts=WHOLES, origin=EXACT, lower=EXACT, upper=EXACT, labels=TEXT),
    "dates": table(levels=WORDS),
    "suppress": {},
}
"""Hierarchy builders that have elements of their own; any other is a ``<builder kind=…>``."""
