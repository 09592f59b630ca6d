"""The things that a policy can name: models, measures, strategies, hierarchy builders and file formats.

Each is built in, comes from an installed package by an entry point, or is passed as an object with the policy:

    [project.entry-points."sqlanon.strategies"]           sqlanon.Policy.from_file(
    hill_climbing = "my_package.search:hill_climbing"          path, extensions=Extensions(strategies={…: …}))

The name of an entry point, or the key of a mapping, is the name in a policy; the ``type`` of a model and the ``name``
of a measure or a format are the same. No package can replace what is built in, and of two that claim one name or ending
neither is taken: what a policy means must not depend on what else is installed. An entry point is loaded when a policy
names it (a format: when no other format knows the ending of a file), so a broken package breaks no other policy.
docs/extending.md has an example of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from sqlanon.core.doors import behind, is_installed
from sqlanon.core.formats.base import FileFormat
from sqlanon.core.formats.checked import CheckedFormat
from sqlanon.core.hierarchies.builders import HierarchyBuilder
from sqlanon.core.hierarchies.specs import KINDS as HIERARCHIES
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.measures import MEASURES, MeasureKind
from sqlanon.core.measures.base import Measure
from sqlanon.core.measures.checked import refuse_unsound as refuse_unsound_measure
from sqlanon.core.models import MODELS, ModelKind
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.checked import refuse_unsound as refuse_unsound_model
from sqlanon.core.policy.paths import DATABASE_ENDINGS, FLAT_ENDINGS, names_records
from sqlanon.core.search import STRATEGIES
from sqlanon.core.search.base import Search
from sqlanon.core.search.checked import checked
from sqlanon.errors import InputError, attempt

Kind = TypeVar("Kind")
FORMATS: tuple[FileFormat, ...] = behind("formats") if is_installed("formats") else ()

BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "models": {getattr(kind, "type"): kind for kind in MODELS},  # noqa: B009  a protocol's class has no such attribute
    "measures": {getattr(kind, "name"): kind for kind in MEASURES},  # noqa: B009
    "strategies": dict(STRATEGIES),
    "hierarchies": {},
    "formats": {each.name: each for each in FORMATS},
    "redactors": {},
}
"""What the package brings, by kind; the group of entry points of each kind is ``sqlanon.<kind>``."""
NATIVE: Mapping[str, tuple[str, ...]] = {"hierarchies": HIERARCHIES, "formats": ("csv", "parquet", "duckdb")}
"""Names that are taken beside these: kinds of hierarchies, and formats that the engine reads itself."""
NATIVE_ENDINGS = (*FLAT_ENDINGS, *DATABASE_ENDINGS)
"""Endings of files that the engine reads itself."""
RESERVED: Mapping[str, tuple[str, ...]] = {
    "strategies": ("auto",),
    "hierarchies": ("information_loss", "delimiter", "null", "encoding", "header"),
    "formats": (
        "version", "source", "files", "table", "key", "join", "columns", "entity", "sample", "accept", "undeclared",
        "row_security", "uncovered",
        "privacy", "quality", "suppression_limit", "suppression_count", "nulls", "search", "suppressed",
        "transformation", "publish", "output", "if_exists", "report", "certificate", "ledger", "engine", "like",
        "periods", "repeats", "counts",
    ),
}  # fmt: skip
"""Words that mean something else in a policy where a name of the kind may stand."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "models": ("type", "parameters", "watches"),
    "measures": ("name", "needs", "aggregates"),
    "strategies": (),
    "hierarchies": ("parameters",),
    "formats": ("name", "endings", "options", "writes", "read", "write"),
    "redactors": (),
}
"""The attributes that each kind must have."""
OWN_NAME = {"models": "type", "measures": "name", "formats": "name"}


@dataclass(frozen=True, slots=True)
class Extensions:
    """Objects that a policy can name, each by its key.

    Attributes:
        models: classes of privacy models (``models.base.PrivacyModel``).
        measures: classes of quality measures (``measures.base.Measure``).
        strategies: generator functions of search strategies (``search.base.Search``).
        hierarchies: classes of hierarchy builders (``hierarchy.builders.HierarchyBuilder``).
        formats: file formats (``formats.base.FileFormat``).
        redactors: functions of a text that return a text, or None for a blank.

    Raises:
        InputError: a name is taken, or an object is none of its kind.
    """

    models: Mapping[str, ModelKind] = field(default_factory=dict)
    measures: Mapping[str, MeasureKind] = field(default_factory=dict)
    strategies: Mapping[str, Search] = field(default_factory=dict)
    hierarchies: Mapping[str, Callable[..., HierarchyBuilder]] = field(default_factory=dict)
    formats: Mapping[str, FileFormat] = field(default_factory=dict)
    redactors: Mapping[str, Callable[[str], str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in (each.name for each in fields(self)):
            for name, extension in getattr(self, kind).items():
                _refuse_taken(kind, name)
                _refuse_unfit(kind, name, extension)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names: the built-in ones in the order of the documentation, then the others, sorted."""
        own = {*getattr(self, kind), *_installed(kind)} - {*BUILT_IN[kind], *RESERVED.get(kind, ())}
        return (*BUILT_IN[kind], *sorted(own))

    def model(self, name: str) -> ModelKind:
        """Return the class of the privacy model called ``name``; as for all of these, KeyError if there is none.

        Raises:
            InputError: the name is claimed twice, or what it names cannot be loaded or is none of its kind.
        """
        kind: ModelKind = self._find("models", name)
        return kind

    def privacy_model(self, name: str, parameters: Mapping[str, Any], column: str | None = None) -> PrivacyModel:
        """Return the privacy model of a policy's entry; ``column`` is the sensitive column that it stands under."""
        own = {key: value for key, value in parameters.items() if not names_records(key, value)}
        model = self.model(name)(**own, **({} if column is None else {"column": column}))
        if name not in BUILT_IN["models"]:
            refuse_unsound_model(name, model)
        return model

    def measure(self, name: str) -> MeasureKind:
        """Return the class of the quality measure called ``name``."""
        kind: MeasureKind = self._find("measures", name)
        return kind

    def quality_measure(self, name: str, catalog: Catalog, aggregate: str | None, size: int) -> Measure:
        """Return the quality measure that a policy asks for, for an encoded source; ``size`` as for ``MeasureKind``."""
        kind = self.measure(name)
        if name in BUILT_IN["measures"]:
            return kind(catalog, aggregate, size)
        measure = attempt(f"The quality measure {name!r}", lambda: kind(catalog, aggregate, size))
        refuse_unsound_measure(name, measure, catalog)
        return measure

    def strategy(self, name: str) -> tuple[str, Search]:
        """Return the strategy called ``name``, with its real name (``auto`` is ``box``)."""
        wanted = "box" if name == "auto" else name
        found: Search = self._find("strategies", wanted)
        return wanted, found if wanted in BUILT_IN["strategies"] else checked(wanted, found)

    def builder(self, name: str) -> Callable[..., HierarchyBuilder]:
        """Return the class of the hierarchy builder called ``name``."""
        kind: Callable[..., HierarchyBuilder] = self._find("hierarchies", name)
        return kind

    def redactor(self, name: str) -> Callable[[str], str | None]:
        """Return the function called ``name``; what is installed may be named as ``package.module:function`` too.

        Raises:
            InputError: there is none, or as for ``model``.
        """
        by_place = [own for own, points in _installed("redactors").items() for each in points if each.value == name]
        try:
            function: Callable[[str], str | None] = self._find("redactors", by_place[0] if by_place else name)
        except KeyError:
            hint = (
                "install the package that has it in the group 'sqlanon.redactors', or pass Extensions(redactors={…})."
            )
            raise InputError(f"No redactor is called {name!r}.", hint=hint) from None
        return function

    def format(self, name: str) -> FileFormat:
        """Return the file format called ``name``."""
        extension: FileFormat = self._find("formats", name)
        return extension if name in BUILT_IN["formats"] else CheckedFormat.of(extension)

    def format_of(self, ending: str) -> tuple[str, FileFormat] | None:
        """Return the file format of an ending such as ``.xml``, with its name; None if there is none, or the engine's.

        Raises:
            InputError: several claim the ending; or none does, and one cannot be loaded.
        """
        ending = ending.lower()
        if ending in NATIVE_ENDINGS:
            return None
        found: list[tuple[str, FileFormat]] = []
        broken: InputError | None = None
        for name in self.names("formats"):
            try:
                extension = self.format(name)
            except InputError as error:
                broken = broken or error
                continue
            if ending in extension.endings:
                if name in BUILT_IN["formats"]:
                    return name, extension
                found.append((name, extension))
        if len(found) > 1:
            raise InputError(
                f"The ending {ending!r} is claimed by the formats {' and '.join(name for name, _ in found)}.",
                hint="remove one of them.",
            )
        if broken is not None and not found:
            raise broken
        return found[0] if found else None

    def _find(self, kind: str, name: str) -> Any:
        points = _installed(kind).get(name, ())
        given = getattr(self, kind).get(name)
        if given is not None and len(points) == 1 and _is_loaded(kind, points[0], given):
            points = ()  # the same object, installed and passed
        claims = [
            *(["sqlanon itself"] if name in (*BUILT_IN[kind], *NATIVE.get(kind, ())) else []),
            *(["the extensions of the policy"] if given is not None else []),
            *(f"the package {point.dist.name if point.dist else '?'} ({point.value})" for point in points),
        ]
        if len(claims) > 1:
            raise InputError(
                f"The name {name!r} of the group 'sqlanon.{kind}' is claimed by {' and by '.join(claims)}.",
                hint="remove or rename one; what is built in cannot be replaced.",
            )
        if name in BUILT_IN[kind]:
            return BUILT_IN[kind][name]
        if points:
            return _loaded(kind, points[0])
        if given is None:
            raise KeyError(name)
        return given


def found(find: Callable[[str], Kind], name: str) -> Kind | None:
    """Return the thing that a name stands for; None where there is none or it cannot be used, which checks note."""
    try:
        return find(name)
    except (KeyError, TypeError, InputError):
        return None


def _refuse_taken(kind: str, name: object) -> None:
    taken = (*BUILT_IN[kind], *NATIVE.get(kind, ()), *RESERVED.get(kind, ()))
    if name in taken:
        raise InputError(
            f"The name {name!r} of the extensions' {kind} is taken by sqlanon itself.",
            hint="choose another; what is built in cannot be replaced.",
        )


def _refuse_unfit(kind: str, name: str, extension: Any) -> None:
    """Raise InputError unless an extension has the attributes of its kind, and the name it is registered by."""
    what = f"The extension {name!r} of the group 'sqlanon.{kind}'"
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"{what} has no proper name.", hint="take letters, digits and underscores.")
    missing = [attribute for attribute in NEEDED[kind] if not hasattr(extension, attribute)]
    if kind == "hierarchies" and not (hasattr(extension, "levels") or hasattr(extension, "rows")):
        missing.append("levels or rows")
    if missing or not (kind == "formats" or callable(extension)):
        fault = f"has no {', '.join(missing)}" if missing else "cannot be called"
        raise InputError(f"{what} {fault}.", hint="docs/extending.md says what each kind must have.")
    if kind == "formats" and isinstance(extension, type):
        raise InputError(f"{what} is a class.", hint="name an object of it, built without arguments.")
    own = getattr(extension, OWN_NAME[kind]) if kind in OWN_NAME else name
    if own != name:
        raise InputError(f"{what} calls itself {own!r}.", hint="let both be the same.")
    if kind == "formats":
        known = (*NATIVE_ENDINGS, *(ending for each in FORMATS for ending in each.endings))
        taken = [
            ending for ending in extension.endings if ending in known or ending != ending.lower() or ending[:1] != "."
        ]
        if taken:
            raise InputError(
                f"{what} claims the ending {taken[0]!r}, which is taken by sqlanon itself, or is no ending.",
                hint="an ending is in lower case and begins with a dot.",
            )


@cache
def _installed(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of installed packages, by name; they are not loaded yet."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in _entry_points().select(group=f"sqlanon.{kind}"):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


_entry_points = cache(entry_points)
"""All entry points of installed packages, whose files are read once for all kinds of extensions."""


@cache
def _loaded(kind: str, point: EntryPoint) -> Any:
    """Return the object of an entry point; any error while it is imported becomes one that names the package."""
    try:
        extension = point.load()
    except Exception as error:
        raise InputError(
            f"The extension {point.name!r} of the group {point.group!r} cannot be loaded ({type(error).__name__}).",
            hint=f"install it again, or remove the package that provides {point.value}.",
        ) from error
    _refuse_unfit(kind, point.name, extension)
    return extension


def _is_loaded(kind: str, point: EntryPoint, given: object) -> bool:
    try:
        return _loaded(kind, point) is given
    except InputError:
        return False


NOTHING = Extensions()
