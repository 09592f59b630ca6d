"""``quality``, ``search`` and ``engine``: what a release shall lose as little of as possible, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.core.measures.base import AGGREGATES
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import ALWAYS, HERE, PolicyPart, check, entry, keys_of
from sqlanon.errors import InputError
from sqlanon.parameters import choice, number, parts, shaped, text, whole, words_of


@dataclass(frozen=True, slots=True)
class Quality(PolicyPart):
    """The quality measure and the aggregate that folds the attributes' losses; None is the measure's own default."""

    built = 'sqlanon.Quality("loss")'

    measure: str = entry(
        parts("measures", "the name of a measure"),
        "loss",
        about="What the search makes as small as possible.",
        example="precision",
        kept=ALWAYS,
    )
    aggregate: str | None = entry(
        choice(*AGGREGATES),
        about="How the losses of the columns are folded into one number.",
        example="quality: {measure: loss, aggregate: maximum}",
        without="arithmetic_mean, where the measure adds up over columns",
    )


@dataclass(frozen=True, slots=True)
class SearchOptions(PolicyPart):
    """The strategy and the limits of the search."""

    built = "sqlanon.SearchOptions(time_limit=60)"

    strategy: str = entry(
        parts("strategies", "the name of a strategy"),
        "auto",
        about="How the best node is looked for. auto is box, which proves the optimum.",
        example="flash",
        page="policy.md#strategies",
        kept=ALWAYS,
    )
    time_limit: float | None = entry(
        number(0),
        about="How long the search may take. What it has found by then is published, with the gap that is proven.",
        unit="seconds",
        example="60",
        without="no limit",
    )
    max_evaluations: int | None = entry(
        whole(1),
        about="How many nodes are judged at most.",
        unit="nodes of the lattice",
        example="10000",
        without="no limit",
    )
    gap: float = entry(
        number(0, 0.999999),
        0.0,
        about="The relative gap to the proven lower bound that is good enough to stop at.",
        unit="a share of the loss",
        example="0.02",
        kept=ALWAYS,
    )
    where: str = entry(
        choice(
            auto="where it suits",
            engine="in the engine of the source",
            local="in an embedded engine; of a server, the coded quasi-identifiers leave it",
        ),
        "auto",
        about="Where nodes are judged, and so what leaves a server.",
        example="engine",
        page="warehouse.md",
        kept=HERE,
    )
    on_interrupt: str = entry(
        choice(
            discard="nothing is published", publish="the best node that was found so far is published, with its gap"
        ),
        "discard",
        about="What an interrupt (Ctrl-C) does to a search.",
        example="publish",
        kept=HERE,
    )


SETTINGS = shaped(
    {"type": "object"},
    "mapping of Spark's settings to their values",
    lambda value: None if isinstance(value, Mapping) else "write {spark.executor.memory: 4g}.",
    fault="This is not a mapping.",
)


@dataclass(frozen=True, slots=True)
class EngineOptions(PolicyPart):
    """The engine that works on files, and its settings."""

    built = "sqlanon.EngineOptions(threads=4)"

    name: str | None = entry(
        choice(duckdb="the embedded DuckDB", spark="Spark"),
        about="The engine that works on files. A database works on its own tables.",
        example="spark",
        without="duckdb",
    )
    memory_limit: str | None = entry(
        text(),
        about="How much memory the embedded DuckDB takes at most.",
        unit="bytes, with a unit such as GB",
        example="4GB",
        without="DuckDB's own",
    )
    threads: int | None = entry(
        whole(1),
        about="How many threads the embedded DuckDB runs.",
        unit="threads",
        example="2",
        without="as many as there are cores",
    )
    temp_directory: str | None = entry(
        text(),
        about="The folder in which the embedded DuckDB puts what does not fit into memory, in a private folder, "
        "encrypted.",
        example="/var/tmp",
        without="the system's place for temporary files",
    )
    master: str | None = entry(
        text(),
        about="Where the Spark cluster is.",
        example='engine: {name: spark, master: "local[4]"}',
        without="what Spark itself is configured with",
    )
    settings: Mapping[str, str] = entry(
        SETTINGS,
        dict,
        about="Settings of Spark, by their own names.",
        example="engine: {name: spark, settings: {spark.executor.memory: 4g}}",
        without="none",
    )

    def __post_init__(self) -> None:
        PolicyPart.__post_init__(self)
        if isinstance(self.settings, Mapping):
            texts = {str(name): str(value) for name, value in self.settings.items()}
            object.__setattr__(self, "settings", texts)

    @property
    def embedded(self) -> dict[str, Any]:
        """The settings of the embedded DuckDB."""
        return {name: getattr(self, name) for name in ("memory_limit", "threads", "temp_directory")}


WHERE = words_of(keys_of(SearchOptions), "where")
ON_INTERRUPT = words_of(keys_of(SearchOptions), "on_interrupt")
ENGINES = words_of(keys_of(EngineOptions), "name")


def check_search(faults: Faults, quality: Quality, search: SearchOptions, extensions: Extensions) -> None:
    """Note the faults of the measure, and of the search."""
    faults.choice("quality.measure", quality.measure, extensions.names("measures"))
    find_named(faults, "quality.measure", extensions.measure, quality.measure)
    check(faults, "quality", quality)
    faults.choice("search.strategy", search.strategy, ("auto", *extensions.names("strategies")))
    find_named(faults, "search.strategy", extensions.strategy, search.strategy)
    check(faults, "search", search)


def check_engine(faults: Faults, engine: EngineOptions) -> None:
    """Note the faults of the engine that works on files."""
    check(faults, "engine", engine)
    for name in ("master", "settings"):
        if getattr(engine, name) and engine.name != "spark":
            faults.add(f"engine.{name}", "Only Spark has this key.", "say name: spark, or leave it out.")


def find_named(faults: Faults, place: str, find: Callable[[str], Any], name: str) -> Any:
    """Return the part that a name of an extension stands for; None if it is unknown, or unusable, which is noted."""
    try:
        return find(name)
    except (KeyError, TypeError):  # an unknown choice, which is noted already
        return None
    except InputError as error:
        faults.add(place, error.message, error.hint)
        return None
