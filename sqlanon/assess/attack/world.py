"""What attacks look at: a release, its source and what an attacker knows of both, as relations of one database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.assess.attack import statements
from sqlanon.assess.attack.statements import IN_RELEASE, TEXT_LEVELS, TargetRecords
from sqlanon.core.compiler.encoded_source import COVERED
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.duckdb.files import partitions_relation
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.policy import Policy
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.policy.paths import is_folder
from sqlanon.core.policy.suppression import encoded_policy
from sqlanon.core.publish.papers import CERTIFICATE, MANIFEST, paper_beside
from sqlanon.core.source.columns import check_columns, is_scalar
from sqlanon.core.source.encoding import Encoding, encode_source
from sqlanon.core.source.files import Reading
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source, other_records
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_if, count_rows, equal, is_null, not_null, number, table
from sqlanon.errors import EngineError, InputError, SourceError, UnsupportedError, instead_of, listing


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackWorld:
    """A release beside its source, both as numbers in one engine (``assess.attack.statements``).

    Attributes:
        seed: of whatever is drawn.
        quasi_identifiers: in the order of ``t_<i>`` and ``v_<i>``.
        kept, sensitive: the columns beside them that can be compared with the source, in the order of ``o_<j>``.
        published: rows of the release.
        records: records of the source that take part, without those of a control group.
        controls: records of the control group; None without one.
    """

    engine: Engine
    seed: int
    quasi_identifiers: tuple[str, ...]
    kept: tuple[str, ...]
    sensitive: tuple[str, ...]
    published: int
    records: int
    controls: int | None

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns beside the quasi-identifiers, in the order of ``o_<j>``."""
        return (*self.kept, *self.sensitive)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWorld(AttackWorld):
    """A release of a policy, with what the policy and the papers beside it say.

    Attributes:
        source: the records of the source, by the names of the source; which take part says the encoding.
        encoding: of the source, whose lookups say which texts each value has.
        manifest: of the release; None without one.
        certificate: that is beside the release; None without one.
    """

    policy: Policy
    source: exp.Expr
    encoding: Encoding
    manifest: Mapping[str, Any] | None
    certificate: Mapping[str, Any] | None


@contextmanager
def open_world(
    release: str | os.PathLike[str],
    policy: Policy,
    *,
    source: object = None,
    table_name: str | None = None,
    part: str | None = None,
    known: Sequence[str] = (),
    seed: int = 1,
    watch: Watcher | None = None,
) -> Iterator[PolicyWorld]:
    """Read a release and its source, and number what they hold.

    Args:
        release: a file, a folder of Parquet files, or a database file with ``table_name``.
        source: as for ``anonymize``; None takes the policy's.
        part: a column of the source, 1 for the records of the control group and 0 for those of the release.
        known: columns whose values are the key of a record, where several releases are compared.

    Raises:
        UnsupportedError: the policy, or the engine of its source, is none whose releases are attacked.
        InputError: the release is none of this policy.
        SourceError: one of them cannot be read.
    """
    refuse_unsupported(policy)
    opened = open_policy_source(source, policy)
    with attacking(opened, watch) as engine:
        if part is None:
            check_columns(policy, opened)
        engine.journal.report("encoding")
        relation = _release(opened, policy, Path(release), table_name)
        papers = _paper(Path(release), MANIFEST), _paper(Path(release), CERTIFICATE)
        encoding = encode_source(engine, opened.relation, encoded_policy(policy), opened.readable)
        engine.journal.report("attacking")
        yield _prepared(opened, policy, relation, encoding, papers, part=part, known=known, seed=seed)


@contextmanager
def attacking(opened: Source, watch: Watcher | None) -> Iterator[Engine]:
    """Yield the engine of a source, closed at the end; refuse one beside which no release is read."""
    engine = opened.engine
    try:
        engine.journal.watched_by(watch)
        if not engine.capabilities.has("several_sources"):
            raise UnsupportedError(
                f"{engine.capabilities.name}: a release is attacked beside its source in DuckDB only.",
                hint="export the source to Parquet or a DuckDB file, and name that.",
            )
        yield engine
    finally:
        engine.journal.watched_by(None)
        engine.close()


def refuse_unsupported(policy: Policy) -> None:
    """Raise UnsupportedError for policies whose releases cannot be compared with their source."""
    if policy.periods is not None:
        raise UnsupportedError(
            "A release by periods holds some records of its source, whose periods stand in the place of moments.",
            hint="attack a release of one period: a policy without periods, of a view of these records.",
        )
    instead = [asked.name for asked in policy.publish if asked.instead]
    if instead:
        raise UnsupportedError(
            f"Numbers are published in place of the texts of {listing(instead)}, and which values they cover is not "
            "in the release.",
            hint="publish them beside the texts, as a list (publish: {age: {as: [midpoint]}}), and attack that.",
        )
    if policy.subset is not None:
        raise UnsupportedError(
            "The policy releases a subset of its source (δ-presence); who outside of it looks like whom inside is what "
            "that model bounds.",
            hint="sqlanon check --delta-presence judges the release.",
        )


def _release(opened: Source, policy: Policy, path: Path, table_name: str | None) -> exp.Expr:
    """Return the rows of a release, without the redacted ones."""
    wanted = table_name or ("release" if path.suffix.lower() == ".duckdb" else None)
    reading = Reading(extensions=policy.extensions)
    relation, types = read_beside(opened, path, wanted, reading, names.ATTACKED_RELEASE)
    missing = [name for name in _released_names(policy) if name not in types]
    if missing:
        raise InputError(
            f"The release {path.name!r} has no column {', '.join(map(repr, missing))}, which the policy publishes.",
            hint="name a release of this policy, and with --table its table.",
        )
    if policy.suppressed != "redact":
        return relation
    redacted = statements.all_equal(_released_names(policy), names.SUPPRESSED_MARKER)
    first = is_null(exp.cast(column(_released_names(policy)[0]), "VARCHAR"))
    kept = exp.or_(exp.not_(exp.paren(redacted)), first)
    return exp.select("*").from_(relation.copy()).where(kept).subquery("published")


def read_beside(
    opened: Source, path: str | os.PathLike[str], table_name: str | None, reading: Reading, name: str
) -> tuple[exp.Expr, dict[str, str]]:
    """Return the rows of a file, or of a folder of Parquet files, beside an open source, with their types.

    Raises:
        SourceError: it cannot be read.
    """
    unread, hint = f"{Path(path).name!r} cannot be read", "check path, format and --table."
    with instead_of(EngineError, lambda error: SourceError(f"{unread} ({error.kind}).", hint=hint)):
        if is_folder(Path(path)):  # of partitions, or as a cluster writes it
            relation: exp.Expr = partitions_relation(Path(path))
        else:
            relation = other_records(opened, os.fspath(path), table_name, reading, name=name).relation
        return relation, dict(opened.engine.catalog.columns(relation))


def _released_names(policy: Policy) -> list[str]:
    return [item.name for item in policy.columns if item.role != "drop"]


def _paper(release: Path, ending: str) -> Mapping[str, Any] | None:
    """Return the manifest or the certificate beside a release; None when there is none.

    Raises:
        InputError: it is none.
    """
    found, path = paper_beside(release, ending), release.with_name(release.name + ending)
    if found is None and path.is_file():
        raise InputError(
            f"The file {path.name!r} beside the release cannot be read.", hint="remove it, or write the release anew."
        )
    return found


def _prepared(
    opened: Source,
    policy: Policy,
    release: exp.Expr,
    encoding: Encoding,
    papers: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
    *,
    part: str | None,
    known: Sequence[str],
    seed: int,
) -> PolicyWorld:
    """Number what source and release hold, and find which class covers whom; ``papers``: manifest and certificate.

    Raises:
        InputError: the release holds texts that no level of the policy has.
    """
    engine, catalog = opened.engine, encoding.catalog
    of_release = dict(engine.catalog.columns(release))
    quasi = [item.name for item in policy.quasi_identifiers]
    kept, sensitive = (_compared(policy, encoding, role) for role in ("keep", "sensitive"))
    words = [(name, encoding.types[name], of_release[name]) for name in (*kept, *sensitive)]
    heights = [attribute.height for attribute in catalog.attributes]
    levels = _levels(papers[0], quasi, heights)
    if quasi:
        _number_texts(engine, heights, levels, without_null=policy.nulls == "basic")
    typed = {
        i: encoding.types[name]
        for i, name in enumerate(quasi)
        if encoding.types[name] != "VARCHAR" and all(encoding.columns[name].keeps_type[level] for level in levels[i])
    }
    group = number(IN_RELEASE) if part is None else exp.cast(column(part, statements.SOURCE), "INTEGER")
    key = _key_of_records(engine, encoding.source.relation, known)
    published, strange = number_records(
        engine,
        TargetRecords(encoding.source.relation, encoding.source.taking_part.condition(), group, key),
        (release, typed),
        [(name, encoding.types[name]) for name in quasi],
        [(name, of_release[name]) for name in quasi],
        words,
    )
    if strange:
        raise InputError(
            f"The release holds values of {listing(strange)} that no level of the policy's hierarchies has.",
            hint="name the policy and the hierarchies that the release was made with.",
        )
    engine.create("covering", names.COVERING, statements.covering(levels), replayed=False)
    records, controls = count_targets(engine)
    return PolicyWorld(
        engine=engine,
        policy=policy,
        source=opened.relation,
        encoding=encoding,
        manifest=papers[0],
        certificate=papers[1],
        seed=seed,
        quasi_identifiers=tuple(quasi),
        kept=tuple(kept),
        sensitive=tuple(sensitive),
        published=published,
        records=records,
        controls=None if part is None else controls,
    )


def _number_texts(engine: Engine, heights: Sequence[int], levels: Sequence[list[int]], *, without_null: bool) -> None:
    """Number the values of the source, ``without_null`` if such records take no part, and the texts that cover them."""
    values = statements.known_values(heights, COVERED)
    if without_null:
        values = values.where(not_null(column("value")))
    engine.create("known values", names.KNOWN_VALUES, values, replayed=False)
    engine.create("known texts", names.KNOWN_TEXTS, statements.known_texts(levels), replayed=False)
    several = any(len(own) > 1 for own in levels)
    engine.create("levels of texts", TEXT_LEVELS, statements.text_levels(every=several), replayed=False)


def _key_of_records(engine: Engine, relation: exp.Expr, known: Sequence[str]) -> exp.Expr | None:
    """Return the key of a record of the source, which several releases are compared by; None without known columns.

    Raises:
        InputError: the source lacks one of them.
    """
    if not known:
        return None
    types = dict(engine.catalog.columns(relation))
    if lacking := [name for name in known if name not in types]:
        raise InputError(
            f"The source has no column {listing(lacking)}, which is a quasi-identifier of another release.",
            hint="compare releases of one source, with the same names of columns.",
        )
    return statements.key_of([(name, types[name]) for name in known])


def number_records(
    engine: Engine,
    source: TargetRecords,
    release: tuple[exp.Expr, Mapping[int, str]],
    quasi: Sequence[tuple[str, str]],
    released: Sequence[tuple[str, str]],
    words: Sequence[tuple[str, str, str]],
) -> tuple[int, list[str]]:
    """Number the records of a source and the rows and classes of a release, by known values and texts.

    Args:
        release: the rows, and per position the type in which texts are compared.
        quasi, released: the quasi-identifiers with their types in the source, and in the release.
        words: the columns beside them, with their types in the source and in the release.

    Returns:
        How many rows there are, and the quasi-identifiers with texts that are not known.
    """
    if words:
        query = statements.known_words(source.relation, release[0], words)
        engine.create("known words", names.KNOWN_WORDS, query, replayed=False)
    targets = statements.targets(source, quasi, [(name, kind) for name, kind, _ in words])
    values, texts = ([each(i) for i in range(len(quasi))] for each in (statements.value, statements.text))
    query = statements.numbered_by(targets, values, statements.TYPE)
    engine.create("targets", names.TARGETS, query, replayed=False)
    engine.create("types of targets", names.TARGET_TYPES, statements.target_types(len(quasi)), replayed=False)
    rows = statements.released_rows(release[0], released, [(name, kind) for name, _, kind in words], release[1])
    query = statements.numbered_by(rows, texts, statements.CLASS)
    published = engine.create("released rows", names.RELEASED_ROWS, query, replayed=False)
    engine.create("released classes", names.RELEASED_CLASSES, statements.released_classes(len(quasi)), replayed=False)
    if not texts:
        return published, []
    unknown = exp.select(*[count_if(is_null(column(name))) for name in texts]).from_(table(names.RELEASED_ROWS))
    [strange] = engine.run("texts of the release", unknown)
    return published, [name for (name, _), count in zip(quasi, strange, strict=True) if count]


def count_targets(engine: Engine) -> tuple[int, int]:
    """Return how many records the release was made of, and how many belong to the control group."""
    controls = count_if(equal(column(statements.PART), number(statements.CONTROL)))
    [(every, beside)] = engine.run("count targets", exp.select(count_rows(), controls).from_(table(names.TARGETS)))
    return int(every) - int(beside), int(beside)


def _compared(policy: Policy, encoding: Encoding, role: str) -> list[str]:
    """Return the published columns of a role whose values can be compared with those of the source."""
    return [
        item.name
        for item in policy.columns
        if item.role == role and item.role not in KEYED_ROLES and is_scalar(encoding.types[item.name])
    ]


def _levels(manifest: Mapping[str, Any] | None, quasi: Sequence[str], heights: Sequence[int]) -> list[list[int]]:
    """Return per quasi-identifier the levels at which it is published: as the manifest says, or else all."""
    listed: Any = (manifest or {}).get("columns")
    found = {item["name"]: item for item in listed if "name" in item} if isinstance(listed, list) else {}
    levels = []
    for name, height in zip(quasi, heights, strict=True):
        item = found.get(name, {})
        own = item.get("levels", [item["level"]] if "level" in item else [*range(height)])
        levels.append(sorted({level for level in own if isinstance(level, int) and 0 <= level < height}))
        levels[-1] = levels[-1] or [*range(height)]
    return levels
