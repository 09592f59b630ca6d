"""The keys of ``quality``, ``search`` and ``engine``."""

from __future__ import annotations

from sqlanon.core.measures.base import AGGREGATES
from sqlanon.parameters import (
    choice,
    number,
    option,
    or_nothing,
    parts,
    shaped,
    text,
    whole,
    words_of,
)

QUALITY_KEYS = (
    option(
        "measure",
        parts("measures", "the name of a measure"),
        about="What the search makes as small as possible.",
        example="precision",
    ),
    option(
        "aggregate",
        or_nothing(choice(*AGGREGATES)),
        about="How the losses of the columns are folded into one number.",
        example="quality: {measure: loss, aggregate: maximum}",
        default="arithmetic_mean, where the measure adds up over columns",
    ),
)
SEARCH_KEYS = (
    option(
        "strategy",
        parts("strategies", "the name of a strategy"),
        about="How the best node is looked for. auto is box, which proves the optimum.",
        example="flash",
        page="policy.md#strategies",
    ),
    option(
        "time_limit",
        or_nothing(number(0)),
        about="How long the search may take. What it has found by then is published, with the gap that is proven.",
        unit="seconds",
        example="60",
        default="no limit",
    ),
    option(
        "max_evaluations",
        or_nothing(whole(1)),
        about="How many nodes are judged at most.",
        unit="nodes of the lattice",
        example="10000",
        default="no limit",
    ),
    option(
        "gap",
        number(0, 0.999999),
        about="The relative gap to the proven lower bound that is good enough to stop at.",
        unit="a share of the loss",
        example="0.02",
    ),
    option(
        "where",
        choice(
            auto="where it suits",
            engine="in the engine of the source",
            local="in an embedded engine; of a server, the coded quasi-identifiers leave it",
        ),
        about="Where nodes are judged, and so what leaves a server.",
        example="engine",
        page="warehouse.md",
    ),
    option(
        "on_interrupt",
        choice(
            discard="nothing is published", publish="the best node that was found so far is published, with its gap"
        ),
        about="What an interrupt (Ctrl-C) does to a search.",
        example="publish",
    ),
)
ENGINE_KEYS = (
    option(
        "name",
        or_nothing(choice(duckdb="the embedded DuckDB", spark="Spark")),
        about="The engine that works on files. A database works on its own tables.",
        example="spark",
        default="duckdb",
    ),
    option(
        "memory_limit",
        or_nothing(text()),
        about="How much memory the embedded DuckDB takes at most.",
        unit="bytes, with a unit such as GB",
        example="4GB",
        default="DuckDB's own",
    ),
    option(
        "threads",
        or_nothing(whole(1)),
        about="How many threads the embedded DuckDB runs.",
        unit="threads",
        example="2",
        default="as many as there are cores",
    ),
    option(
        "temp_directory",
        or_nothing(text()),
        about="The folder in which the embedded DuckDB puts what does not fit into memory, in a private folder, "
        "encrypted.",
        example="/var/tmp",
        default="the system's place for temporary files",
    ),
    option(
        "master",
        or_nothing(text()),
        about="Where the Spark cluster is.",
        example='engine: {name: spark, master: "local[4]"}',
        default="what Spark itself is configured with",
    ),
    option(
        "settings",
        shaped({"type": "object"}, "mapping of Spark's settings to their values"),
        about="Settings of Spark, by their own names.",
        example="engine: {name: spark, settings: {spark.executor.memory: 4g}}",
        default="none",
    ),
)
WHERE = words_of(SEARCH_KEYS, "where")
ON_INTERRUPT = words_of(SEARCH_KEYS, "on_interrupt")
ENGINES = words_of(ENGINE_KEYS, "name")
