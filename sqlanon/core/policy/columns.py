"""``columns``: what each column of the source is, its models, and the quasi-identifier that it travels with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar, Literal

from sqlanon.core.hierarchies import specs
from sqlanon.core.plain import is_unicode
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.hierarchies import check_hierarchy
from sqlanon.core.policy.models import Model, check_model
from sqlanon.core.policy.parts import ALWAYS, PolicyPart, check, entry, keys_of, part_of
from sqlanon.core.policy.search import find_named
from sqlanon.parameters import choice, flag, is_number, names_of, number, parts, shaped, suggest, text, whole, words_of

LARGEST = 1e9
"""Of weights and information losses: beyond, their products and sums would overflow."""
MOST_DAYS = 36_500
"""Days by which dates are shifted at most: a hundred years."""
_DAYS = {"type": "integer", "minimum": 1, "maximum": MOST_DAYS}
Uncovered = Literal["error", "top", "suppress"]
UNCOVERED = choice(
    error="the run ends, and names a query that lists such values",
    top="such a value is published as the root of the hierarchy, *",
    suppress="a record with such a value is left out",
)
_ROLE = choice(
    quasi_identifier="an attacker may know it; it is generalized along its hierarchy",
    sensitive="an attacker must not learn it; it is published as it is and protected by its models",
    keep="published as it is; it must not identify persons",
    drop="not published",
    pseudonym="of the entity: a keyed pseudonym, which links the records of a person",
    shift="dates, shifted by one number of days a person",
)
KEYED_ROLES = ("pseudonym", "shift")


@dataclass(frozen=True, slots=True)
class Travels(PolicyPart):
    """With which quasi-identifier a column travels."""

    alone = "column"

    column: str = entry(
        text(),
        MISSING,
        about="The quasi-identifier.",
        example="columns: {district: {role: keep, with: {column: region}}}",
    )
    level: int | None = entry(
        whole(0),
        about="The highest level of its hierarchy at which the column is published.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {district: {role: keep, with: {column: region, level: 1}}}",
        without="the highest level that the column follows from",
    )


@dataclass(frozen=True, slots=True)
class Column(PolicyPart):
    """One column of the source: its role and, for a quasi-identifier, its hierarchy and limits.

    Attributes:
        information_loss: of every level of the hierarchy, level 0 first, for weighted information loss; None is the
            level's share of the highest.
        travels: ``with`` in a policy file.
    """

    built = 'sqlanon.Column.keep("stay")'

    called: ClassVar[Mapping[str, str]] = {"travels": "with"}
    order = (
        "role", "min_level", "max_level", "level", "uncovered", "days", "keep_weekday", "travels", "weight", "models",
    )  # fmt: skip

    name: str
    role: str = entry(
        _ROLE,
        MISSING,
        about="What the column is, and so what becomes of it.",
        example="columns: {length_of_stay: {role: keep}}",
    )
    hierarchy: specs.HierarchySpec | None = entry(
        parts("hierarchy", "one kind of hierarchy with its options, or the path of a file", or_text=True),
        about="What a value may be generalized to, level by level. A quasi-identifier needs one (only patterns and "
        "the column of periods do without); a sensitive column needs one for a hierarchical distance.",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5, fanouts: [2, 2]}}}}",
        page="policy.md#columns",
    )
    min_level: int | None = entry(
        whole(0),
        about="The lowest level that the search uses. Of quasi-identifiers.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {zip: {role: quasi_identifier, hierarchy: {zip3: {}}, min_level: 1}}",
    )
    max_level: int | None = entry(
        whole(0),
        about="The highest level that the search uses, a limit on generalization. Of quasi-identifiers.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, max_level: 1}}",
        without="the highest level of the hierarchy",
    )
    weight: float = entry(
        number(0, LARGEST),
        1.0,
        about="The importance of the column for measures that add up over columns (ANON: priority).",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, weight: 2}}",
        page="policy.md#measures",
    )
    information_loss: tuple[float, ...] | None = None
    uncovered: str | None = entry(
        UNCOVERED,
        about="What becomes of values of this column that its hierarchy does not list, or cannot read.",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, uncovered: top}}",
        page="hierarchies.md#what-they-cannot-read",
        without="the policy's own uncovered",
    )
    models: tuple[Model, ...] = entry(
        parts("column_models", "a privacy model, or a list of them"),
        (),
        about="The privacy models that watch a sensitive column, which needs one at least.",
        example="columns: {diagnosis: {role: sensitive, models: [{type: t_closeness, t: 0.3}]}}",
        page="policy.md#privacy-models",
    )
    days: int | None = entry(
        shaped(_DAYS, f"whole number from 1 to {MOST_DAYS}"),
        about="By how many days a date is shifted at most, to either side. The role shift needs it; all shifted "
        "columns have the same.",
        unit="days",
        example="columns: {admission_date: {role: shift, days: 180}}",
        page="policy.md#dates-that-still-work",
    )
    keep_weekday: bool = entry(
        flag(),
        False,
        about="Shift dates by whole weeks, so that a Sunday stays one. Of the role shift.",
        example="columns: {admission_date: {role: shift, days: 180, keep_weekday: true}}",
        page="policy.md#dates-that-still-work",
        kept=ALWAYS,
    )
    travels: Travels | None = entry(
        part_of(Travels, "the name of a quasi-identifier, or a mapping"),
        about="The quasi-identifier that a column with the role keep travels with: the column is blank wherever that "
        "is generalized beyond what the column says.",
        example="columns: {district: {role: keep, with: region}}",
        page="policy.md#columns-that-travel-with-another",
    )
    redact: str | None = entry(
        text(),
        about="The function, an extension, that rewrites each text of a column with the role keep before anything is "
        "judged: by its name, or as package.module:function.",
        example="columns: {note: {role: keep, redact: clean}}",
        page="policy.md#texts-that-stay",
    )
    redact_finds: str = entry(
        choice(refuse="the run ends", blank="these texts are not published"),
        "refuse",
        about="What happens where a redacted text holds a value of a column that is not published.",
        example="columns: {note: {role: keep, redact: clean, redact_finds: blank}}",
        page="policy.md#texts-that-stay",
    )
    level: int | None = entry(
        whole(1),
        about="The level of its hierarchy at which a column with the role sensitive or keep is published. It is "
        "generalized before anything is judged, and no search changes it.",
        unit="levels of the hierarchy",
        example="columns: {wage: {role: sensitive, hierarchy: {intervals: {width: 500}}, level: 1, models: "
        "[{type: t_closeness, t: 0.3}]}}",
        page="policy.md#columns",
        without="the values as they are",
    )

    def __post_init__(self) -> None:
        PolicyPart.__post_init__(self)
        object.__setattr__(self, "weight", as_float(self.weight))
        object.__setattr__(self, "models", tuple(self.models) if isinstance(self.models, list) else self.models)
        if isinstance(self.information_loss, list | tuple):
            object.__setattr__(self, "information_loss", tuple(map(as_float, self.information_loss)))

    @classmethod
    def quasi_identifier(
        cls,
        name: str,
        hierarchy: specs.HierarchySpec | None = None,
        *,
        min_level: int | None = None,
        max_level: int | None = None,
        weight: float = 1.0,
        information_loss: Sequence[float] | None = None,
        uncovered: Uncovered | None = None,
    ) -> Column:
        """Return a column that an attacker may know: it is generalized by its hierarchy (patterns need none)."""
        losses: Any = information_loss
        return cls(name, "quasi_identifier", hierarchy, min_level, max_level, weight, losses, uncovered)

    @classmethod
    def sensitive(
        cls, name: str, *models: Model, hierarchy: specs.HierarchySpec | None = None, level: int | None = None
    ) -> Column:
        """Return a column that an attacker must not learn; a hierarchical distance needs its hierarchy, and so does a
        ``level`` at which it is published."""
        return cls(name, "sensitive", hierarchy, models=models, level=level)

    @property
    def as_judged(self) -> Column:
        """The column of a source that holds the texts of its ``level`` already."""
        return self if self.level is None else replace(self, hierarchy=None, level=None)

    @classmethod
    def keep(cls, name: str, *, travels: str | Travels | None = None) -> Column:
        """Return a column that is published as it is.

        ``travels`` names a quasi-identifier that it travels with: it is blank where that is generalized further than
        the column follows from it.
        """
        return cls(name, "keep", travels=Travels(travels) if isinstance(travels, str) else travels)

    @classmethod
    def drop(cls, name: str) -> Column:
        """Return a column that is not published."""
        return cls(name, "drop")

    @classmethod
    def pseudonym(cls, name: str) -> Column:
        """Return the column of the entity, of which a keyed pseudonym is published."""
        return cls(name, "pseudonym")

    @classmethod
    def shifted(cls, name: str, days: int, *, keep_weekday: bool = False) -> Column:
        """Return a column of dates, which are shifted by one number of days a person, at most ``days``."""
        return cls(name, "shift", days=days, keep_weekday=keep_weekday)


ROLES = words_of(keys_of(Column), "role")


def as_float(value: Any) -> Any:
    """Return a number as a float, anything else as it is."""
    return float(value) if is_number(value) else value


def parse_travels(faults: Faults, key: str, value: Any) -> Travels | None:
    """Read the value of ``with``: the name of a column, or a mapping with its level too."""
    if value is None or isinstance(value, str | Travels):
        return Travels(value) if isinstance(value, str) else value
    keys = faults.mapping(key, value, names_of(keys_of(Travels)))
    if isinstance(value, Mapping) and "column" not in keys:
        faults.add(f"{key}.column", "The quasi-identifier is missing.", "write with: region, say.")
    return Travels(keys["column"], keys.get("level")) if "column" in keys else None


def written_travels(travels: Travels) -> str | dict[str, Any]:
    """Return it as a policy file has it."""
    return travels.column if travels.level is None else {"column": travels.column, "level": travels.level}


def check_travelling(faults: Faults, policy: Any) -> None:
    """Note the faults of columns that travel with a quasi-identifier."""
    quasi = {column.name for column in policy.quasi_identifiers}
    patterns = getattr(policy.transformation, "solver", None) is not None
    replaced = {asked.name for asked in policy.publish if asked.instead}
    for column in policy.columns:
        travels, key = column.travels, f"columns.{column.name}.with"
        if travels is None:
            continue
        if not isinstance(travels, Travels) or not isinstance(travels.column, str):
            faults.add(key, "This names no quasi-identifier.", "write with: region, say.")
            continue
        if column.role != "keep":
            message = f"A column with the role {column.role} does not travel with another."
            faults.add(key, message, "give it the role keep, or remove with.")
        elif travels.column not in quasi:
            faults.add(key, "This is no quasi-identifier of the policy.", "name one that this column follows from.")
        elif travels.column in replaced:
            message = f"Numbers or dates take the place of {travels.column!r}, and this column follows from its text."
            faults.add(key, message, f"publish them beside it: publish: {{{travels.column}: [low, high]}}.")
        if travels.level is None:
            continue
        if faults.integer(f"{key}.level", travels.level, 0) and patterns:
            faults.add(f"{key}.level", "Patterns keep or suppress a column; they know no levels.", "remove it.")


def check_column(faults: Faults, column: Column, extensions: Extensions, *, bare: bool) -> None:
    """Add the faults of a column to those of its policy; ``bare``: a quasi-identifier does without a hierarchy."""
    key = f"columns.{column.name}"
    if not column.name or "\0" in column.name or not is_unicode(column.name):
        faults.add("columns", "A column has no name that a table can have.", "name it as in the source.")
    if column.role not in ROLES:
        message = "The role is missing." if column.role is None else "This role is not known."
        faults.add(f"{key}.role", message, suggest(column.role, ROLES))
    if column.role == "quasi_identifier" and column.hierarchy is None and not bare:
        hint = "add one, e.g. hierarchy: {suppress: {}}."
        faults.add(f"{key}.hierarchy", "A quasi-identifier needs a hierarchy.", hint)
    if column.role in ("sensitive", "keep", "drop", *KEYED_ROLES):
        for name in ("min_level", "max_level", "uncovered"):
            if getattr(column, name) is not None:
                faults.add(f"{key}.{name}", "This key belongs to quasi-identifiers.", "remove it.")
    if column.role == "quasi_identifier" and column.models:
        hint = "write k_anonymity under privacy, or use sensitive."
        faults.add(f"{key}.models", "A quasi-identifier takes no models.", hint)
    if column.role in ("keep", "drop", *KEYED_ROLES):
        for name, given in (("hierarchy", column.hierarchy), ("models", column.models or None)):
            if given is not None and (name == "models" or column.level is None or column.role != "keep"):
                message = f"A column with the role {column.role} takes none."
                faults.add(f"{key}.{name}", message, "remove it, or change the role.")
    if column.role == "sensitive" and not column.models:
        faults.add(f"{key}.models", "A sensitive column needs a model.", "add one, or use the role keep.")
    for place, model in enumerate(column.models):
        check_model(faults, f"{key}.models[{place}]", model, extensions, column=column.name)
        if model.parameters.get("distance") == "hierarchical" and column.hierarchy is None:
            hint = "add one, or use distance: equal."
            faults.add(f"{key}.hierarchy", "A hierarchical distance needs a hierarchy.", hint)
    _check_redacted(faults, key, column, extensions)
    _check_level(faults, key, column)
    check(faults, key, column, beside=("role", "days", "keep_weekday"))
    low, high = column.min_level, column.max_level
    if isinstance(low, int) and isinstance(high, int) and low > high:
        faults.add(f"{key}.min_level", f"min_level {low} is above max_level {high}.", "swap or remove one.")
    if column.information_loss is not None:
        _check_losses(faults, f"{key}.hierarchy.information_loss", column)
    if column.hierarchy is not None:
        check_hierarchy(faults, f"{key}.hierarchy", column.hierarchy, extensions)


def _check_redacted(faults: Faults, key: str, column: Column, extensions: Extensions) -> None:
    """Note the faults of a column of texts that a function rewrites."""
    if isinstance(column.redact, str):
        find_named(faults, f"{key}.redact", extensions.redactor, column.redact)
        if column.role != "keep":
            faults.add(f"{key}.redact", "Only texts that are kept are redacted.", "give the column the role keep.")
    elif column.redact_finds != "refuse":
        faults.add(f"{key}.redact_finds", "Nothing is redacted.", "add redact, or remove it.")


def _check_level(faults: Faults, key: str, column: Column) -> None:
    """Note the faults of a level at which a column is published that no search generalizes."""
    if column.level is None:
        return
    if column.role not in ("sensitive", "keep"):
        message = "This key belongs to columns with the role sensitive or keep."
        hint = "write min_level and max_level." if column.role == "quasi_identifier" else "remove it."
        faults.add(f"{key}.level", message, hint)
    elif not specs.follows_from_value(column.hierarchy):
        hint = "add one (intervals, dates, ages, codes, prefix, zip3, or redact with a width), or make the column in a "
        message = "A level needs a hierarchy that is computed from each value by itself."
        faults.add(f"{key}.hierarchy", message, f"{hint}view of the source.")
    elif any(model.parameters.get("distance", "equal") != "equal" for model in column.models):
        message = "Texts of a level have no distance but the equal one."
        faults.add(f"{key}.level", message, "use distance: equal, or remove level.")
    elif column.redact is not None:
        faults.add(f"{key}.level", "A text is redacted or generalized, not both.", "remove one.")


def _check_losses(faults: Faults, key: str, column: Column) -> None:
    """Note a loss that falls with generalization: it would make every bound of a search wrong."""
    losses = column.information_loss
    if column.role != "quasi_identifier":
        faults.add(key, "This key belongs to quasi-identifiers.", "remove it.")
        return
    if not isinstance(losses, tuple) or not losses:
        faults.add(key, "This is not a list of numbers.", "give one number for each level, level 0 first.")
        return
    good = [faults.number(f"{key}[{level}]", loss, 0, LARGEST) for level, loss in enumerate(losses)]
    if all(good):
        falling = [level for level in range(1, len(losses)) if losses[level] < losses[level - 1]]
        if falling:
            faults.add(key, f"The loss falls from level {falling[0] - 1} to {falling[0]}.", "let it rise or stay.")
