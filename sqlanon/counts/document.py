"""The document of a release of counts: its tables and rules as fields, beside the keys that it shares with a policy.

What concerns the source (where it is, its columns and hierarchies, whose records they are) is read and checked as that
of any policy; a dimension is a quasi-identifier there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.policy import Policy
from sqlanon.core.policy.documents import Documented, plain_document
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import check, keys_of, of_keys, written
from sqlanon.counts.keys import (
    KEYS,
    OF_COLUMN,
    SHARED,
    TARGETS,
    WORDS,
    CellMeasure,
    CountsColumn,
    CountsFacts,
    CountsTable,
    Dominance,
    Noise,
)
from sqlanon.errors import InputError, PolicyError, UnsupportedError
from sqlanon.parameters import is_number, names_of

MOST_COUNT = 2**53
"""The largest base of rounding: some multiples of it are still 64-bit integers."""


@dataclass(frozen=True, slots=True)
class CountsPolicy(Documented):
    """What tables of counts are published, and how safe they must be.

    Attributes:
        policy: how the source is read: every dimension is a quasi-identifier of it.
        tables: the tables, in their order.
        rules: which cells are unsafe, and what makes them safe.
    """

    SAID = "document of counts", "file"

    policy: Policy
    tables: tuple[CountsTable, ...]
    rules: CountsFacts

    @classmethod
    def _parsed(cls, document: Any, base: Path, extensions: Extensions) -> CountsPolicy:
        """Return what a document says."""
        return _CountsReader(base, extensions).read(document)

    def _with_file(self, file: Path) -> CountsPolicy:
        """Return it with the file that it was read from."""
        return replace(self, policy=replace(self.policy, file=file))

    @property
    def dimensions(self) -> dict[str, tuple[int, ...]]:
        """The dimensions of all tables, each with the levels that any of them shows, the finest first."""
        found: dict[str, tuple[int, ...]] = {}
        for table in self.tables:
            for name, levels in table.dimensions.items():
                found[name] = tuple(sorted({*found.get(name, ()), *levels}))
        return found

    @property
    def measured(self) -> str | None:
        """The column whose sums are needed; None where records or entities are counted alone."""
        return next(iter(_measured(self.tables)), None)

    @property
    def unit(self) -> str:
        """What a count counts: ``entity`` or ``record``."""
        return "record" if self.policy.entity is None else "entity"

    def check_certified(self) -> None:
        """Check that a release of it has a certificate.

        Raises:
            UnsupportedError: it has none: values are shown that are not those of the cells, or others are known.
        """
        if self.policy.ledger is not None:
            raise UnsupportedError(
                "Counts that are judged with earlier releases have no certificate: nobody else has the ledger.",
                hint="leave out ledger or certificate.",
            )
        if self.rules.round is not None or self.rules.method == "keys":
            raise UnsupportedError(
                "Counts that are rounded, or have noise, have no certificate.",
                hint="leave out round, method or certificate.",
            )

    def fingerprint(self) -> str:
        """Return SHA-256 (hex) of the document, independent of the folders it names."""
        tables = [[t.name, dict(t.dimensions), [m.name for m in t.measures], list(t.totalled)] for t in self.tables]
        parts_ = [tables, written(self.rules, portable=True), self.policy.fingerprint()]
        return hashlib.sha256(json.dumps(parts_).encode()).hexdigest()


CountsLike = CountsPolicy | Mapping[str, Any] | str | Path
"""A document of counts, its keys, or its path."""


def _measured(tables: Sequence[CountsTable]) -> dict[str, None]:
    """Return the columns that are summed."""
    return dict.fromkeys(m.column for table in tables for m in table.measures if m.column is not None)


class _CountsReader:
    """Reads one document; all its faults are raised together."""

    def __init__(self, base: Path, extensions: Extensions) -> None:
        self._base, self._extensions = base, extensions
        self._faults = Faults("The document of counts")

    def read(self, document: Any) -> CountsPolicy:
        """Return what the document says.

        Raises:
            PolicyError: it has faults.
        """
        faults = self._faults
        document = plain_document(faults, document, "counts", "source and counts")
        known, every = names_of(KEYS), names_of(TOP_KEYS)
        for name in [name for name in document if name in every and name not in known]:
            faults.add(str(name), "Tables of counts do not have this key.", "leave it out.")
        own = {n: v for n, v in document.items() if n in known or n not in every}
        keys = faults.mapping("", own, (*known, *self._extensions.names("formats")))
        tables = self._tables(keys.get("counts"), keys.get("columns"))
        rules_keys = {name: keys[name] for name in keys if name in names_of(keys_of(CountsFacts))}
        rules = of_keys(faults, "", rules_keys, CountsFacts)
        policy = self._policy(keys, tables)
        if policy is not None:
            self._check_output(policy, tables, rules)
        self._check_rules(rules, tables)
        if policy is not None and not faults.items:
            self._check_method(rules, policy, tables)
        faults.finish()
        assert policy is not None
        return CountsPolicy(policy, tables, rules)

    def _tables(self, value: Any, columns: Any) -> tuple[CountsTable, ...]:
        faults = self._faults
        if not isinstance(value, Mapping) or not value:
            faults.add("counts", "There are no tables.", "write counts: {by_sex: {dimensions: [sex]}}.")
            return ()
        found = []
        for name, item in value.items():
            place = f"counts.{name}"
            if not faults.text("counts", name):
                continue
            keys = faults.mapping(place, item, names_of(keys_of(CountsTable)))
            dimensions = self._dimensions(f"{place}.dimensions", keys.get("dimensions"), columns)
            margins = keys.get("margins", True)
            are_listed = isinstance(margins, list) and all(isinstance(n, str) and n in dimensions for n in margins)
            if not isinstance(margins, bool) and not are_listed:
                wrong = "This is neither true, false nor a list of dimensions of the table."
                faults.add(f"{place}.margins", wrong, "name dimensions of the table, or leave it out.")
            margins = tuple(margins) if are_listed else margins is not False
            measures = self._measures(f"{place}.measures", keys.get("measures"))
            table = CountsTable(name, dimensions, measures, margins)
            if any(m.kind == "share" for m in measures) and len(table.totalled) < len(dimensions):
                wrong = "A share is one of the grand total, which the table does not show."
                faults.add(f"{place}.measures", wrong, "leave out margins, or share.")
            found.append(table)
        if len({table.name.casefold() for table in found}) < len(found):
            faults.add("counts", "Two tables differ in the case of their names only.", "rename one.")
        return tuple(found)

    def _dimensions(self, place: str, value: Any, columns: Any) -> dict[str, tuple[int, ...]]:
        """Return the dimensions of a table with levels: those named, the first above the values, or the values."""
        faults = self._faults
        given = dict.fromkeys(value) if isinstance(value, list) and all(isinstance(n, str) for n in value) else value
        if not isinstance(given, Mapping) or not given:
            faults.add(place, "This names no columns.", "write dimensions: [sex, age], or {sex: 0, age: [1, 2]}.")
            return {}
        if isinstance(value, list) and len(given) < len(value):
            faults.add(place, "This names a column twice.", "name each column once.")
        found = {}
        for name, levels in given.items():
            listed = [] if levels is None else levels if isinstance(levels, list) else [levels]
            good = faults.text(place, name) and all(faults.integer(f"{place}.{name}", n, 0) for n in listed)
            own = columns.get(name) if isinstance(columns, Mapping) and good else None
            has_hierarchy = isinstance(own, Mapping) and own.get("hierarchy") is not None
            if good:
                found[name] = tuple(sorted(set(listed))) or (int(has_hierarchy),)
        return found

    def _measures(self, place: str, value: Any) -> tuple[CellMeasure, ...]:
        faults, found = self._faults, []
        given = [] if value is None else value if isinstance(value, list) else [value]
        for number_, item in enumerate(given):
            if isinstance(item, str) and item in WORDS:
                found += [] if item == "count" else [CellMeasure(item)]
            elif isinstance(item, Mapping) and len(item) == 1 and next(iter(item)) in OF_COLUMN:
                [(kind, name)] = item.items()
                if faults.text(f"{place}[{number_}].{kind}", name):
                    found.append(CellMeasure(str(kind), name))
            else:
                hint = "write count, share, {sum: cost} or {mean: cost}."
                faults.add(f"{place}[{number_}]", "This is no measure.", hint)
        return tuple(dict.fromkeys(found))

    def _policy(self, keys: Mapping[str, Any], tables: Sequence[CountsTable]) -> Policy | None:
        """Return how the source is read; the faults of that are noted."""
        faults, given = self._faults, keys.get("columns")
        own_keys = names_of(keys_of(CountsColumn))
        columns: dict[str, Any] = {}
        used = list(dict.fromkeys(name for table in tables for name in table.dimensions))
        if given is not None and not isinstance(given, Mapping):
            faults.add("columns", "This is not a mapping.", "write columns: {age: {hierarchy: …}}.")
        declared = dict(given) if isinstance(given, Mapping) else {}
        for name in [name for name in declared if name not in used]:
            faults.add(f"columns.{name}", "No table has this column as a dimension.", "leave it out.")
        for name in used:
            own = faults.mapping(f"columns.{name}", declared.get(name), own_keys)
            if own.get("uncovered") == "suppress" or keys.get("uncovered") == "suppress":
                wrong = "A record that falls into no category would be missing from all totals."
                faults.add(f"columns.{name}.uncovered", wrong, "list the values, or say uncovered: top.")
                own.pop("uncovered", None)
            columns[name] = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, **own}
        measured = _measured(tables)
        if len(measured) > 1:
            faults.add("counts", "Sums of several columns are not protected together.", "measure one column a release.")
        for name in measured:
            columns.setdefault(name, {"role": "keep"})
        document = {key: keys[key] for key in keys if key in SHARED or key not in names_of(KEYS)}
        document |= {"columns": columns, "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 2}]}
        if document.get("uncovered") == "suppress":
            document.pop("uncovered")
        try:
            return Policy.from_dict(document, base_directory=self._base, extensions=self._extensions)
        except PolicyError as error:
            for fault in error.faults:
                if columns or fault.key != "columns":  # without tables there are none
                    faults.add(fault.key, fault.message, fault.hint)
        return None

    def _check_rules(self, rules: CountsFacts, tables: Sequence[CountsTable]) -> None:
        """Note the faults of the rules, each by itself and beside others."""
        faults, before = self._faults, len(self._faults.items)
        check(faults, "", rules, beside=("interval", "weights", "groups"))
        used = {name for table in tables for name in table.dimensions}
        if isinstance(rules.keys, Noise):
            check(faults, "keys", rules.keys)
        if isinstance(rules.dominance, Dominance):
            check(faults, "dominance", rules.dominance)
            if isinstance(rules.dominance.n, int) and rules.dominance.n > 2:
                faults.add("dominance.n", "More than two contributors are not looked at.", "give 1 or 2.")
        if len(faults.items) > before:
            return
        interval = rules.interval
        if rules.threshold > MOST_COUNT:
            faults.add("threshold", "No count is as large as that.", "give a smaller number.")
        if interval is not None:
            pair = isinstance(interval, tuple) and len(interval) == 2
            if not (pair and all(faults.integer("interval", n, 0) for n in interval)):
                faults.add("interval", "These are not two numbers.", "write interval: [0, 5].")
            elif interval[1] > MOST_COUNT:
                faults.add("interval", "No count is as large as that.", "give smaller numbers.")
            elif interval[0] > 0 or interval[1] < rules.threshold:
                faults.add("interval", "This is narrower than from 0 to the threshold.", "widen it, or leave it out.")
        for name in rules.groups if isinstance(rules.groups, tuple) else ():
            if name not in used:
                faults.add("groups", f"No table has the dimension {name!r}.", "name dimensions of a table.")
        self._check_weights(rules.weights, used)

    def _check_method(self, rules: CountsFacts, policy: Policy, tables: Sequence[CountsTable]) -> None:
        """Note what does not go with rounding, or with noise."""
        faults, given = self._faults, set(written(rules))
        perturbed, by_key = rules.method == "keys", rules.by_key
        if perturbed:
            without = given - {"method", "keys", "zeros", "total", "form"}
            reason = "This has no meaning where counts are changed by noise."
        elif rules.round is None:
            without, reason = given & {"rounding", "additive", "suppress", "keys"}, "Nothing is rounded, or perturbed."
        else:
            without = given & ({"keys"} if rules.suppress else {"keys", "groups", "weights", "never"})
            reason = "This has no meaning beside rounding" + ("." if rules.suppress else " without suppression.")
        for name in sorted(without):
            faults.add(name, reason, "leave it out.")
        fault = rules.keys.fault() if perturbed else None
        if fault is not None:
            faults.add("keys", *fault)
        if by_key and policy.entity is None:
            hint = "name the column of persons, or one that is different in each record: entity: patient_id."
            faults.add("entity", "A cell's key is the sum of those of its entities, and none is named.", hint)
        if by_key != (policy.key is not None) and policy.ledger is None:
            hint = "write key: {file: secret.key}, or {env: STUDY_KEY}." if by_key else "leave it out."
            faults.add("key", "Keys are made of a secret." if by_key else "Nothing is made by a key.", hint)
        if (perturbed or rules.round) and _measured(tables):
            faults.add("counts", "A sum or mean would tell the count that is not shown exactly.", "leave it out.")
        if rules.round is None or perturbed:
            return
        most = (rules.interval or (0, rules.threshold))[1]
        if rules.round > MOST_COUNT:
            faults.add("round", "No count is as large as that.", "round to a smaller number.")
        elif rules.additive and rules.rounding == "random":
            faults.add("rounding", "What adds up is not rounded at random.", "leave out rounding, or additive.")
        elif not rules.suppress and rules.rounding == "random":
            hint = "leave out suppress: false, or rounding: random."
            faults.add("rounding", "A mean of 0 leaves 0 alone, so that every other multiple says: someone.", hint)
        elif not rules.suppress and rules.round < (least := most + 1 if rules.additive else 2 * most):
            hint = f"round to {least} or more, or leave out suppress: false."
            faults.add("round", f"A cell that is shown as 0 could not be {most}.", hint)

    def _check_weights(self, weights: Any, used: set[str]) -> None:
        faults = self._faults
        if isinstance(weights, str):
            faults.choice("weights", weights, ("cells", "records"))
        elif not isinstance(weights, Mapping):
            faults.add("weights", "These are no weights.", "write cells, records, or {region: 2}.")
        else:
            for name, value in weights.items():
                if name not in used:
                    faults.add(f"weights.{name}", "No table has this dimension.", "name a dimension of a table.")
                elif not is_number(value) or value <= 0:
                    faults.add(f"weights.{name}", "This is not a number above 0.", "give a number above 0.")

    def _check_output(self, policy: Policy, tables: Sequence[CountsTable], rules: CountsFacts) -> None:
        """Note what an output or a form of counts cannot be."""
        faults, output = self._faults, policy.output
        if output is not None and (output.kind not in TARGETS or output.partition_by):
            hint = "write {file: counts.parquet}, or {table: …} or {view: …}."
            faults.add("output", "Tables of counts are not published so.", hint)
        if policy.ledger is not None and (rules.method == "keys" or rules.round is not None):
            wrong = "Counts with noise, or rounded ones, are not judged over time."
            faults.add("ledger", wrong, "leave one of both out.")
        if policy.ledger is not None and _measured(tables):
            faults.add("ledger", "Sums and means are not judged over time.", "count alone, or leave the ledger out.")
        if policy.ledger is not None and policy.ledger.cohorts is not None:
            faults.add("ledger.cohorts", "Tables of counts have no cohorts.", "leave it out.")
        if rules.form == "wide" and len(tables) > 1:
            faults.add("form", "Several tables have no common wide form.", "leave out form, or publish them apart.")


def columns_by(given: Sequence[str], types: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the dimensions and the columns of a document, of ``--by sex,age:10,region``.

    A number after a column is a width of its numbers, or of how many characters of its texts are kept; a word is the
    unit of its dates.

    Raises:
        InputError: a column is not there, or cannot be divided so.
    """
    dimensions: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for item in given:
        name, colon, width = item.partition(":")
        if name not in types:
            raise InputError(
                f"The source has no column {name!r}.", hint="names are matched exactly; see sqlanon profile."
            )
        dimensions[name] = 1 if colon else 0
        if not colon:
            continue
        kind = types[name].upper()
        if width.isdigit() and int(width) > 0:
            is_text = kind.startswith(("VARCHAR", "ENUM"))
            spec: dict[str, Any] = (
                {"prefix": {"lengths": [int(width)]}} if is_text else {"intervals": {"width": int(width)}}
            )
        elif width and kind.startswith(("DATE", "TIMESTAMP")):
            spec = {"dates": {"levels": [width]}}
        else:
            raise InputError(
                f"The column {name!r} cannot be divided so.",
                hint=f"write {name}:10 for groups of ten, or a unit of dates, such as {name}:year.",
            )
        columns[name] = {"hierarchy": spec}
    return dimensions, columns
