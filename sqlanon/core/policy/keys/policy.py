"""The keys of a policy, and of a joined source.

What reads and checks a policy takes the names, words and limits of its keys from these tables. ``sqlanon schema``,
``sqlanon help`` and docs/reference/policy-keys.md are made of them. Defaults are those of the classes that the keys are
handed to. Tables of parts that have a module of their own stand there: ``key``, ``ledger``, ``representatives``,
``transformation``, the hierarchies and the models.
"""

from __future__ import annotations

from dataclasses import replace

from sqlanon.core.hierarchies.spec_values import FRACTION
from sqlanon.core.policy.columns import UNCOVERED, Column
from sqlanon.core.policy.key import Key
from sqlanon.core.policy.keys.csv import CSV_OPTIONS
from sqlanon.core.policy.ledger import LedgerSpec
from sqlanon.core.policy.output import OUTPUT_KEYS, Output
from sqlanon.core.policy.parts import part_of
from sqlanon.core.policy.representatives import KEYS as PUBLISH_KEYS
from sqlanon.core.policy.search import EngineOptions, Quality, SearchOptions
from sqlanon.parameters import (
    NAMES,
    TEXT,
    Parameter,
    choice,
    option,
    or_nothing,
    parts,
    shaped,
    text,
    whole,
)

JOIN_KEYS = (
    option(
        "source",
        or_nothing(text()),
        about="The file or database of the further source.",
        example="join: [{source: departments.csv, key: department}]",
        default="the policy's own source",
    ),
    option(
        "table",
        or_nothing(text()),
        about="The relation of a database.",
        example="join: [{table: departments, key: department}]",
    ),
    Parameter(
        "key",
        shaped(
            {"anyOf": [TEXT, {**NAMES, "minItems": 1}, {"type": "object", "additionalProperties": TEXT}]},
            "a column, a list of columns, or a mapping of columns to their names in the further source",
        ),
        about="The columns by which records meet.",
        example="join: [{source: departments.csv, key: {department: name}}]",
    ),
    option(
        "csv",
        parts("mapping", "mapping", CSV_OPTIONS),
        about="How a CSV file is read, as the key csv of the policy.",
        example='join: [{source: departments.csv, csv: {delimiter: ";"}, key: department}]',
        page="policy.md#files",
    ),
)
"""Keys of a joined source, beside those that hold the options of further file formats."""

TOP_KEYS = (
    option(
        "version",
        shaped({"const": 1}, "the number 1"),
        about="The version of the policy's keys.",
        example="1",
    ),
    option(
        "source",
        or_nothing(text()),
        about="Where the records are: a file (.csv, .parquet, .xml, .duckdb, .sqlite) or the URL of a database. A "
        "path is relative to the policy file.",
        example="hospital.duckdb",
        page="policy.md#files",
    ),
    option(
        "files",
        or_nothing(shaped({"anyOf": [TEXT, NAMES]}, "a pattern, or a list of patterns")),
        about="Patterns of CSV or Parquet files with the same columns, which together are the source.",
        example="visits/2024-*.parquet",
        page="policy.md#files",
    ),
    option(
        "table",
        or_nothing(text()),
        about="The relation of a database, with its schema if need be. A database needs it.",
        example="discharges",
    ),
    option(
        "csv",
        parts("mapping", "mapping", CSV_OPTIONS),
        about="How CSV files are read.",
        example='{delimiter: ";", "null": NA}',
        page="policy.md#files",
    ),
    option(
        "join",
        parts("list", "list of mappings", JOIN_KEYS),
        about="Further sources, joined by key: each record of those before it meets at most one of its rows.",
        example='[{source: departments.csv, csv: {delimiter: ";"}, key: {department: name}}]',
        page="policy.md#columns",
    ),
    Parameter(
        "columns",
        replace(part_of(Column, "mapping of columns to their keys"), kind="by_name"),
        about="What each column of the source is.",
        example="{age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}}, length_of_stay: {role: keep}}",
        page="policy.md#columns",
    ),
    option(
        "entity",
        or_nothing(text()),
        about="The column that says whose a record is: persons are counted instead of records, in every model, in "
        "the limits and in the audits.",
        example="patient_id",
        page="entities.md",
        default="none: records are counted",
    ),
    option(
        "key",
        part_of(Key),
        about="Where the secret stands by which pseudonyms are made and dates are shifted. The policy never holds it.",
        example="{file: secret.key}",
        page="policy.md#persons-that-stay-linked",
    ),
    option(
        "accept",
        or_nothing(shaped(NAMES, "list of columns")),
        about="Columns with the role keep or sensitive that are published although they identify persons.",
        example="[length_of_stay]",
        page="beside.md",
        default="none",
    ),
    option(
        "undeclared",
        choice(error="the run ends", drop="they are not published"),
        about="What becomes of columns of the source that the policy does not list.",
        example="drop",
    ),
    option(
        "row_security",
        choice(
            refuse="the run ends", accept="what the role sees of a source under row-level security is taken for all"
        ),
        about="What happens where row-level security hides records of the source.",
        example="accept",
        page="warehouse.md",
    ),
    option(
        "uncovered",
        UNCOVERED,
        about="What becomes of values that a hierarchy does not list, or cannot read.",
        example="top",
        page="hierarchies.md#what-they-cannot-read",
    ),
    option(
        "privacy",
        parts("models", "a privacy model, or a list of them"),
        about="The privacy models of classes and of the whole release. Those of a sensitive column stand under its "
        "models. A policy needs one model at least.",
        example="[{type: k_anonymity, k: 5}]",
        page="policy.md#privacy-models",
    ),
    option(
        "suppression_limit",
        shaped(
            {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": FRACTION}]},
            "number from 0 to 1, or its text",
        ),
        about="How many records may be left out at most: 0 is none, 1 balances freely.",
        unit="a share of the records; with an entity, of the persons",
        example="0.05",
    ),
    option(
        "suppression_count",
        or_nothing(whole(0)),
        about="How many records may be left out at most, in the place of suppression_limit.",
        unit="records; with an entity, persons",
        example="100",
    ),
    option(
        "nulls",
        choice(extended="NULL is a value like others", basic="records with a NULL in a quasi-identifier are left out"),
        about="How NULL is matched in quasi-identifiers.",
        example="basic",
        page="commands.md#nulls",
    ),
    option(
        "quality",
        part_of(Quality),
        about="What the release shall lose as little of as possible.",
        example="{measure: loss, aggregate: arithmetic_mean}",
        page="policy.md#measures",
    ),
    option(
        "search",
        part_of(SearchOptions),
        about="How the best node is looked for, and how long.",
        example="{time_limit: 60, gap: 0.02}",
        page="policy.md#strategies",
    ),
    option(
        "suppressed",
        choice(drop="they are not there", redact="they are there with a marker in every column"),
        about="How records that are left out appear in the release.",
        example="redact",
    ),
    option(
        "transformation",
        parts("transformation", "mapping"),
        about="What is done to the records, when it is not one node for all of them.",
        example="{type: local_recoding, nodes: 16}",
        page="patterns.md",
        default="one node for all records (full_domain)",
    ),
    option(
        "publish",
        parts("by_name", "mapping of quasi-identifiers to what is published of them", PUBLISH_KEYS),
        about="Numbers and dates that are published beside a generalized text, or in its place.",
        example="{age: {as: [low, high]}}",
        page="policy.md#numbers-and-dates-for-software",
    ),
    option(
        "ledger",
        part_of(LedgerSpec, "mapping, or the path of a file"),
        about="Where it is written down what was released of a source to whom, so that releases are judged together.",
        example="{file: private/ledger.duckdb, record: patient_id, recipient: ministry, key: {env: LEDGER_KEY}}",
        page="ledger.md",
    ),
    option(
        "output",
        part_of(Output, "mapping with one target, or the path of a file", OUTPUT_KEYS),
        about="Where the release goes.",
        example="{file: released.parquet}",
        page="policy.md#output-and-engine",
        default="none: the run searches and reports, and writes nothing",
    ),
    option(
        "if_exists",
        choice(error="the run ends", replace="it is replaced, once the new release has passed its audit"),
        about="What happens to a target that is there already. A release that is replaced without a ledger is compared "
        "with the new one, and a warning counts the classes that almost agree.",
        page="ledger.md#a-release-that-is-replaced-without-a-ledger",
        example="replace",
    ),
    option(
        "report",
        or_nothing(text()),
        about="The file of a report for people, .html, .md, .txt or .json; for the operator.",
        example="report.html",
        page="report.md",
        default="none",
    ),
    option(
        "certificate",
        or_nothing(text()),
        about="The file of the operator's proof, for sqlanon verify. It is not to be handed on.",
        example="../proof.json",
        page="commands.md#a-release-and-its-accompanying-files",
        default="none",
    ),
    option(
        "engine",
        part_of(EngineOptions),
        about="The engine that works on files, and its settings.",
        example="{memory_limit: 4GB, threads: 2}",
        page="policy.md#output-and-engine",
    ),
)
"""Keys of a policy, beside those that hold the options of further file formats."""

CHOICES = ("undeclared", "row_security", "uncovered", "nulls", "suppressed", "if_exists")
"""Those that are one of a few words."""
