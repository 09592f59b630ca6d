"""The control group: the policy is published once more, from a part of its source; the rest was not in that release.

A release that is there cannot be undone, and what was suppressed in it is no control: it was suppressed because it is
rare, so that guesses about it fail for that reason. Records that are drawn at random are like those that the release
was made of, and differ in nothing but that they are not in it. So the attacks are repeated on a release that is made
from the others, in a private folder, and the difference between the two groups is what somebody risks by being in a
release of this policy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from sqlanon.assess.attack.statements import CONTROL, IN_RELEASE
from sqlanon.assess.attack.world import PolicyWorld, open_world
from sqlanon.core.anonymizer import anonymize
from sqlanon.core.disk.folders import PrivateFolder, spill_folder
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.hierarchies.specs import TableHierarchy
from sqlanon.core.policy import Output, Policy
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, named, number, row_number, table, when
from sqlanon.errors import InputError, TargetError, UnsupportedError

PART = names.PREFIX + "part"
"""The column of a divided source: 1 for the control group, 0 for the records of the release."""
FOLDER = names.PREFIX + "private"
"""What a private file is attached as."""
COPY, DRAWN = names.PREFIX + "copy", names.PREFIX + "drawn"
FILE, RELEASE, RECORDS, TRAINING = "holdout.duckdb", "release.parquet", "records", "training"
"""What stands in the private folder: a database with all records, and with those of the release; and the release."""


def check_share(share: object) -> float | None:
    """Return the share of the control group; None for 0, which asks for none.

    Raises:
        InputError: it is no share.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 0.9:
        raise InputError("This is not a share of records to hold out.", hint="give 0.5, say; 0 holds none out.")
    return float(share) or None


def refuse_holdout(policy: Policy) -> None:
    """Raise UnsupportedError for a policy that cannot be published from a part of its source."""
    beside = [item.name for item in policy.columns if isinstance(item.hierarchy, TableHierarchy)]
    if beside or (policy.population or {}).get("table") is not None:
        what = f"The hierarchies of {', '.join(beside)} are" if beside else "The population is"
        raise UnsupportedError(
            f"{what} read from the source's database, which a control group that is held out does not have.",
            hint="say --holdout 0, or write them to files.",
        )


@contextmanager
def private_folder(policy: Policy) -> Iterator[Path]:
    """Yield a folder that nobody else can read; it is removed at the end.

    Raises:
        TargetError: it cannot be created.
    """
    folder: PrivateFolder | None = None
    with suppress(OSError):
        folder = spill_folder(Path(policy.engine.temp_directory or tempfile.gettempdir()).absolute())
    if folder is None:
        raise TargetError(
            "The private folder of the attack cannot be created.", hint="set engine.temp_directory, or say --holdout 0."
        )
    try:
        yield folder.path
    finally:
        folder.remove()


@contextmanager
def divided(world: PolicyWorld, share: float) -> Iterator[Path]:
    """Yield a private folder with the records of a world's source, divided at random; it is removed at the end.

    Persons with several records (``entity``) are in one of the groups with all of them.
    """
    with private_folder(world.policy) as folder:
        write_tables(world.engine, folder / FILE, [(RECORDS, _drawn(world, share)), (TRAINING, _training())])
        yield folder


def write_tables(engine: Engine, path: Path, tables: Iterable[tuple[str, exp.Query]]) -> None:
    """Write tables to a new DuckDB file, which is attached as ``FOLDER`` meanwhile, so that later ones read earlier."""
    assert isinstance(engine, DuckDBEngine)  # others lack "several_sources"
    with engine.catalog.detaching():
        engine.attach(path, FOLDER, read_only=False, replayed=False)
        for name, query in tables:
            here = Place(FOLDER, "main", name).table
            engine.run("hold out", exp.Create(this=here, kind="TABLE", expression=query))


def _drawn(world: PolicyWorld, share: float) -> exp.Query:
    """Return the records of the source with their part, drawn by a hash of the seed and of the record or its entity.

    Which of equal records is in which part makes no difference.
    """
    unit, entity, types = names.PREFIX + "unit", world.encoding.source.entity, world.encoding.types
    texts = [exp.cast(column(name), "VARCHAR") for name in types]
    nulls = exp.Literal.string("[null]")
    record = exp.ConcatWs(expressions=[
        exp.Literal.string("|"), *[exp.Coalesce(this=text, expressions=[nulls.copy()]) for text in texts]
    ])  # fmt: skip
    numbered = exp.select(exp.Star(), named(record if entity is None else entity.text(), unit))
    numbered = numbered.from_(world.source.copy())
    if entity is None:  # equal records are drawn apart: kept together, none in the control would be like one outside
        copies = exp.select(exp.Star(), named(row_number(partition=[column(unit)]), COPY))
        numbered = copies.from_(numbered.subquery("records"))
    which = exp.Literal.string("/") if entity is not None else exp.cast(column(COPY), "VARCHAR")
    seeded = exp.Literal.string(f"{world.seed}/")
    drawn = exp.MD5(this=exp.Concat(expressions=[seeded, which, column(unit)], safe=True, coalesce=False))
    numbered = exp.select(exp.Star(), named(drawn, DRAWN)).from_(numbered.subquery("counted"))
    order = exp.Order(expressions=[exp.Ordered(this=column(DRAWN))])
    rank = exp.Window(this=exp.RowNumber() if entity is None else exp.DenseRank(), order=order)
    ranked = exp.select(exp.Star(), named(rank, "place")).from_(numbered.subquery("numbered"))
    units = exp.select(exp.Max(this=column("place"))).from_(table("ranked")).subquery()
    limit = exp.Mul(this=exp.Literal.number(str(share)), expression=units)
    is_control = exp.LTE(this=column("place"), expression=limit)
    part = when(is_control, number(CONTROL), number(IN_RELEASE))
    query = exp.select(*map(column, types), named(part, PART)).from_(table("ranked"))
    cte = exp.CTE(this=ranked, alias=exp.TableAlias(this=exp.to_identifier("ranked", quoted=True)), materialized=True)
    query.set("with_", exp.With(expressions=[cte]))
    return query


def _training() -> exp.Query:
    everything = exp.Star(**{"except_": [exp.to_identifier(PART, quoted=True)]})
    records = exp.select(everything).from_(Place(FOLDER, "main", RECORDS).table)
    return records.where(equal(column(PART), number(IN_RELEASE)))


@contextmanager
def open_holdout(
    folder: Path, policy: Policy, share: float, *, seed: int, watch: Watcher | None
) -> Iterator[PolicyWorld]:
    """Publish the policy from the records that were not held out, and yield the world of that release.

    Raises:
        NoSolutionError, SearchStoppedError, …: as ``anonymize`` does.
    """
    path = folder / FILE
    count = policy.suppression_count
    private = replace(
        policy,
        source=str(path),
        files=(),
        csv={},
        join=(),
        columns=tuple(item.as_judged for item in policy.columns),
        undeclared="drop",
        suppression_count=None if count is None else int(count * (1 - share)),
        output=Output.file(str(folder / RELEASE)),
        if_exists="replace",
        report=None,
        ledger=None,
    )
    with anonymize(None, replace(private, table=TRAINING), watch=watch):
        pass
    whole = replace(private, table=RECORDS)
    with open_world(folder / RELEASE, whole, part=PART, seed=seed, watch=watch) as world:
        yield world
