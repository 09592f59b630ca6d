"""Reads the document of a policy of several tables: its tables, what they share, and what is refused of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.columns import Column
from sqlanon.core.policy.documents import plain_document
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.facts import ROLES, TOP_KEYS
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.key import Key, check_key
from sqlanon.core.policy.parts import keys_of, read
from sqlanon.core.policy.variables import expand
from sqlanon.errors import PolicyError
from sqlanon.parameters import names_of
from sqlanon.tables.keys import (
    COLUMN_KEYS,
    COLUMN_ROLES,
    FOLDER_FORMATS,
    KEYS,
    LATEST_KEYS,
    MODEL,
    OUTPUT_KEYS,
    OWN,
    SHARED,
    TABLE_KEYS,
    Latest,
)

KEY_ROLES = ("drop", "pseudonym")
"""The roles that a key may be given: either way its pseudonym is published where other tables need it."""
EXAMPLE = "[{type: profile_k, k: 5}]"


@dataclass(frozen=True, slots=True)
class LinkedTable:
    """One of the tables.

    Attributes:
        name: what it is called in the policy and in the release.
        policy: what concerns it alone; its keys have the role drop.
        key: the column that identifies its rows; None where no table refers to it.
        parent: the position of the table that its rows belong to; None for the persons' own table.
        link: the column that holds the key of the parent's row.
        latest: which rows of each row of the parent are taken; None: all.
    """

    name: str
    policy: Policy
    key: str | None
    parent: int | None
    link: str | None
    latest: Latest | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that hold keys."""
        return tuple(name for name in (self.link, self.key) if name is not None)


def read_tables(document: Any, base: Path, extensions: Extensions) -> dict[str, Any]:
    """Return the fields of a ``TablesPolicy`` by the keys of its document.

    Raises:
        PolicyError: it has faults; all of them are raised together.
    """
    return _Reader(base, extensions).read(document)


class _Reader:
    """Reads one document, and notes its faults."""

    def __init__(self, base: Path, extensions: Extensions) -> None:
        self._base, self._extensions = base, extensions
        self._faults = Faults()

    def read(self, document: Any) -> dict[str, Any]:
        """Return the fields of the policy."""
        faults = self._faults
        document = plain_document(faults, document, "policy", "source and tables")
        expanded, places = expand(document)
        known, every = names_of(KEYS), names_of(TOP_KEYS)
        for name in [name for name in document if name in every and name not in known]:
            faults.add(str(name), "Several tables that are published together cannot have this key.", "leave it out.")
        keys = faults.mapping("", {n: v for n, v in document.items() if n in known or n not in every}, known)
        k = self._k(keys.get("privacy"))
        nulls = keys.get("nulls", "extended")
        faults.choice("nulls", nulls, ("extended", "basic"))
        faults.choice("if_exists", keys.get("if_exists", "error"), ("error", "replace"))
        key = self._key(expanded.get("key"))
        output, folder_format = self._output(expanded.get("output"))
        tables = self._tables(keys, k or 2)
        faults.finish()
        return {
            "tables": tables,
            "source": expanded.get("source"),
            "k": k or 2,
            "nulls": nulls,
            "key": key,
            "output": output,
            "folder_format": folder_format,
            "if_exists": keys.get("if_exists", "error"),
            "base_directory": self._base,
            "variables": places,
        }

    def _key(self, value: Any) -> Key | None:
        """Return where the secret of the pseudonyms stands, its file relative to the policy."""
        faults, before = self._faults, len(self._faults.items)
        key = None if value is None else read(faults, "key", value, Key)
        if key is None or len(faults.items) > before:
            return None
        check_key(faults, "key", key)
        if len(faults.items) > before or key.file is None:
            return key
        return replace(key, file=str((self._base / key.file).absolute()))

    def _k(self, privacy: Any) -> int | None:
        """Return k of the one model that several tables know."""
        faults = self._faults
        given = [privacy] if isinstance(privacy, Mapping) else privacy
        if not isinstance(given, list | tuple) or not given:
            faults.add("privacy", "There is no privacy model.", f"write {EXAMPLE}.")
            return None
        for number, model in enumerate(given):
            if not isinstance(model, Mapping) or model.get("type") != MODEL:
                faults.add(
                    f"privacy[{number}]",
                    "Rows that stay linked by keys are not judged one by one: who knows several rows of a person knows "
                    "them together.",
                    f"write {EXAMPLE}: at least k persons have the same rows in all tables.",
                )
        first = given[0]
        if len(given) > 1:
            faults.add("privacy", "Several tables are judged by one model.", f"write {EXAMPLE}.")
        if not isinstance(first, Mapping) or first.get("type") != MODEL:
            return None
        for name in [name for name in first if name not in ("type", "k")]:
            hint = "leave it out: all rows of a person are judged together."
            faults.add(f"privacy[0].{name}", "Several tables do not know this parameter.", hint)
        k = first.get("k")
        return k if faults.integer("privacy[0].k", k, 2) else None

    def _output(self, value: Any) -> tuple[Output | None, str | None]:
        """Return where the release goes: a DuckDB file, or a folder and the format of its files."""
        faults = self._faults
        hint = "write {file: release.duckdb}, or {folder: release, format: parquet}."
        if value is None:
            return None, None
        keys = {"file": value} if isinstance(value, str) else faults.mapping("output", value, names_of(OUTPUT_KEYS))
        targets = [name for name in ("file", "folder") if name in keys]
        if len(targets) != 1:
            faults.add("output", "This does not name exactly one target that holds several tables.", hint)
            return None, None
        [kind] = targets
        if not faults.text(f"output.{kind}", keys[kind]):
            return None, None
        path = (self._base / keys[kind]).absolute()
        if kind == "file" and path.suffix.lower() != ".duckdb":
            faults.add("output.file", "A file of this kind does not hold several tables.", hint)
        form = keys.get("format")
        if kind == "file" and form is not None:
            faults.add("output.format", "A file has its format by its ending.", "leave it out.")
        if kind == "folder":
            form = form or "parquet"
            faults.choice("output.format", form, FOLDER_FORMATS)
        return Output(kind, str(path), mode=keys.get("mode")), form

    def _tables(self, keys: Mapping[str, Any], k: int) -> tuple[LinkedTable, ...]:
        """Return the tables, each after the one that it belongs to."""
        faults, given = self._faults, keys.get("tables")
        if not isinstance(given, Mapping) or len(given) < 1:
            faults.add("tables", "There are no tables.", "write tables: {patients: {key: patient_id, columns: …}, …}.")
            return ()
        documents: dict[str, dict[str, Any]] = {}
        for name, item in given.items():
            if faults.text("tables", name):
                documents[name] = faults.mapping(f"tables.{name}", item, names_of(TABLE_KEYS))
        if len({name.casefold() for name in documents}) < len(documents):
            faults.add("tables", "Two tables differ in the case of their names only.", "rename one.")
        for name in [name for name in documents if "/" in name or "\\" in name or name.startswith(".")]:
            faults.add(f"tables.{name}", "A table with this name could not be a file.", "choose a plain name.")
        parents = {name: self._parent(name, item, documents) for name, item in documents.items()}
        ordered = self._ordered(parents)
        if len(ordered) < len(documents):
            return ()
        referred = {parent[0] for parent in parents.values() if parent is not None}
        tables = []
        for name in ordered:
            item, parent = documents[name], parents[name]
            key = item.get("key")
            if key is not None:
                faults.text(f"tables.{name}.key", key)
            elif name in referred:
                faults.add(
                    f"tables.{name}.key", "Other tables belong to this one, and its key is not named.", "add it."
                )
            link = None if parent is None else parent[1]
            if key is not None and key == link:
                faults.add(
                    f"tables.{name}.key", "This column is the key of the parent, too.", "put both into one table."
                )
            own = self._policy(keys, name, item, [c for c in (link, key) if isinstance(c, str)], k)
            if own is not None:
                place = None if parent is None else ordered.index(parent[0])
                latest = self._latest(f"tables.{name}.latest", item.get("latest"), link, name in referred)
                tables.append(LinkedTable(name, own, key, place, link, latest))
        return tuple(tables)

    def _parent(self, name: str, item: Mapping[str, Any], known: Iterable[str]) -> tuple[str, str] | None:
        """Return the table that the rows of another belong to, and the column that holds its key."""
        faults, given = self._faults, item.get("parent")
        if given is None:
            return None
        key = f"tables.{name}.parent"
        if not isinstance(given, Mapping) or len(given) != 1:
            hint = "write parent: {patients: patient_id}, the table and the column here that holds its key."
            faults.add(key, "This does not name one table and a column.", hint)
            return None
        [(parent, link)] = given.items()
        if not faults.text(f"{key}.{parent}", link):
            return None
        if parent not in known or parent == name:
            faults.add(key, "There is no other table of this name.", "name one of tables.")
            return None
        return parent, link

    def _latest(self, key: str, given: Any, link: str | None, is_referred: bool) -> Latest | None:
        """Return which rows of a table are taken."""
        faults, wanted = self._faults, self._faults.mapping(key, given, names_of(LATEST_KEYS))
        if given is None:
            return None
        rows, by = wanted.get("rows"), wanted.get("by")
        are_good = [faults.integer(f"{key}.rows", rows, 1), faults.text(f"{key}.by", by)]
        if link is None or is_referred:
            message = "Rows are left out only of a table that belongs to another, and that no other belongs to."
            faults.add(key, message, "leave it out, or make a view of the rows that are wanted.")
        return Latest(int(rows or 1), str(by)) if all(are_good) else None

    def _ordered(self, parents: Mapping[str, tuple[str, str] | None]) -> list[str]:
        """Return the names, each after its parent; fewer if there is not one table that all others belong to."""
        roots = [name for name, parent in parents.items() if parent is None]
        if len(roots) != 1:
            self._faults.add(
                "tables",
                f"{len(roots)} tables belong to no other; one is the table of persons, to which all others lead.",
                "name the parent of the others: parent: {patients: patient_id}.",
            )
            return []
        ordered = roots  # each as soon as its parent is there, otherwise as they were written
        while more := [n for n, p in parents.items() if n not in ordered and p is not None and p[0] in ordered]:
            ordered = [*ordered, more[0]]
        if len(ordered) < len(parents):
            self._faults.add("tables", "Tables belong to each other in a circle.", "name one as the table of persons.")
        return ordered

    def _policy(
        self, shared: Mapping[str, Any], name: str, item: Mapping[str, Any], own_keys: list[str], k: int
    ) -> Policy | None:
        """Return the policy of one table, and note its faults under the table's name."""
        faults, columns = self._faults, item.get("columns")
        prefix = f"tables.{name}"
        if not isinstance(columns, Mapping):
            faults.add(f"{prefix}.columns", "There is no column.", "declare each column of the table with a role.")
            return None
        columns = dict(columns)
        for key in own_keys:
            declared = columns.get(key, {"role": "drop"})
            if not isinstance(declared, Mapping) or declared.get("role") not in KEY_ROLES:
                hint = "leave it out of columns: where other tables need it, its pseudonym is published."
                faults.add(f"{prefix}.columns.{key}.role", "A key is published as a pseudonym or not at all.", hint)
            columns[key] = {"role": "drop"}
        for column, value in columns.items():
            if isinstance(value, Mapping):
                self._check_column(f"{prefix}.columns.{column}", value)
        document = {key: shared[key] for key in SHARED if key in shared}
        document |= {key: item[key] for key in OWN if key in item}
        document |= {"columns": columns, "privacy": [{"type": "k_anonymity", "k": k}]}
        document.setdefault("table", name)  # of a database, the table of this name
        try:
            policy = Policy.from_dict(document, base_directory=self._base, extensions=self._extensions)
        except PolicyError as error:
            for fault in error.faults:
                own = fault.key.split(".")[0].split("[")[0] in (*OWN, "join")
                key = f"{prefix}.{fault.key}" if own else fault.key
                if (key, fault.message) not in {(f.key, f.message) for f in faults.items}:
                    faults.add(key, fault.message, fault.hint)
            return None
        self._check(prefix, policy)
        return policy

    def _check_column(self, key: str, value: Mapping[str, Any]) -> None:
        """Note what a column of one table may be, and one of several not: only what is known here is published."""
        faults, role = self._faults, value.get("role")
        if role == "sensitive":
            faults.add(
                f"{key}.role",
                "Models of sensitive values are not defined for rows that are linked across tables: whose values a "
                "class holds would depend on which rows of a person are counted.",
                "make it a quasi-identifier with a hierarchy, or publish it as it is (role: keep).",
            )
        elif role in ROLES and role not in COLUMN_ROLES:
            faults.add(
                f"{key}.role",
                f"Columns of several tables cannot have the role {role}.",
                f"choose one of {', '.join(COLUMN_ROLES)}; keys become pseudonyms by themselves.",
            )
        for name in value:
            if name in names_of(keys_of(Column)) and name not in names_of(COLUMN_KEYS):
                message = "Columns of several tables cannot have this key."
                faults.add(f"{key}.{name}", message, "leave it out.")

    def _check(self, prefix: str, policy: Policy) -> None:
        """Note what is defined for one table, and not for several."""
        faults = self._faults
        suppresses = [c.name for c in policy.quasi_identifiers if policy.uncovered_of(c) == "suppress"]
        for name in suppresses:
            message = "A record whose value no hierarchy lists cannot be suppressed without the rest of the person."
            faults.add(f"{prefix}.columns.{name}.uncovered", message, "list the values, or say uncovered: top.")
        if policy.quality.measure != "loss" and "quality.measure" not in {fault.key for fault in faults.items}:
            message = "What several tables lose together is defined for the loss alone."
            faults.add("quality.measure", message, "say measure: loss, or leave it out.")
