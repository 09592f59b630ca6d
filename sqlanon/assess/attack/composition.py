"""Several releases of one source in one hand: of the values that each leaves possible, those that all leave.

The attacker knows the quasi-identifiers of all the policies, and looks up in each release which values its classes
hold for a person, and how often. What all of them hold remains (Ganta, Kasiviswanathan and Smith, "Composition attacks
and auxiliary information in data privacy", KDD 2008); the guess is the value with the largest product of shares. A
release that does not cover a person says nothing about them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from sqlanon.assess.attack.facts import INFERENCE, NotApplicable, Outcome
from sqlanon.assess.attack.guesses import CHOICES, CONFIDENCE, count_guesses, first_of, guessed, most_frequent, possible
from sqlanon.assess.attack.holdout import private_folder, write_tables
from sqlanon.assess.attack.inference import described
from sqlanon.assess.attack.statements import TYPE, other
from sqlanon.assess.attack.world import PolicyWorld, open_world
from sqlanon.core.engines.base import Place
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    bigint,
    both,
    column,
    count_rows,
    equal,
    is_null,
    named,
    not_null,
    number,
    row_number,
    same,
    table,
    union_all,
)

ATTACK = "composition_inference"
"""The name of the attack."""
KEY, SECRET, WORD, SHARE, SCORE = "key", "secret", "word", "share", "score"
DECIMALS = 12
"""Scores that differ by less are equal: products in another order must not change a guess."""
CANDIDATES = "candidates"
"""The table of what another release leaves possible: secret, key, word, share."""
Released = tuple[str | os.PathLike[str], Policy]
"""A release and the policy that it was published by."""


def by_composition(
    releases: Sequence[Released], *, source: object, table_name: str | None, seed: int, watch: Watcher | None
) -> list[Outcome]:
    """Return how well what is beside the quasi-identifiers is guessed by whoever has several releases.

    Args:
        releases: the first is compared with what it says alone.
        source: of them all; None takes the first policy's.
        table_name: of the first release.

    Raises:
        SqlanonError: as ``open_world`` does, for any of them.
    """
    (first, policy), *others = releases
    given = policy.resolve(policy.source) if source is None and policy.source is not None else source
    known = tuple(dict.fromkeys(item.name for _, own in releases for item in own.quasi_identifiers))
    with private_folder(policy) as folder:
        files: list[Path] = []
        for release, own in others:
            with open_world(release, own, source=given, known=known, seed=seed, watch=watch) as world:
                if world.beside and world.published:
                    files.append(folder / f"{len(files)}.duckdb")
                    query = union_all([_candidates(world, place) for place in range(len(world.beside))])
                    write_tables(world.engine, files[-1], [(CANDIDATES, query)])
        with open_world(
            first, policy, source=given, table_name=table_name, known=known, seed=seed, watch=watch
        ) as world:
            return [*_guessed(world, files, known)]


def _shares(place: int) -> exp.Select:
    """Return type, ``o_<place>``, and the share of the rows of the type's classes that have it."""
    rows = exp.Window(this=exp.Sum(this=column(names.COUNT)), partition_by=[column(TYPE)])
    share = exp.Div(this=exp.cast(column(names.COUNT), "DOUBLE"), expression=rows, typed=False)
    query = exp.select(column(TYPE), column(other(place)), named(share, SHARE))
    return query.from_(possible([], [place]).subquery("possible"))


def _keyed(world: PolicyWorld) -> exp.Subquery:
    """Return the keys of the records with their types."""
    key = named(column(other(len(world.beside))), KEY)
    return exp.select(key, column(TYPE)).distinct().from_(table(names.TARGETS)).subquery("keyed")


def _candidates(world: PolicyWorld, place: int) -> exp.Select:
    """Return what a release leaves possible of each key in a column: secret, key, word and its share of the rows."""
    secret = exp.Literal.string(world.beside[place])
    query = exp.select(named(secret, SECRET), column(KEY, "keyed"), column(WORD, "words"), column(SHARE, "shares"))
    query = query.from_(_keyed(world)).join(_shares(place).subquery("shares"), on=_alike("shares", "keyed"))
    return query.join(table(names.KNOWN_WORDS, "words"), on=_word_of(place, "shares"))


def _alike(left: str, right: str) -> exp.Expr:
    return equal(column(TYPE, left), column(TYPE, right))


def _word_of(place: int, owner: str) -> exp.Expr:
    return both(
        [equal(column("place", "words"), number(place)), equal(column("o", "words"), column(other(place), owner))]
    )


def _guessed(world: PolicyWorld, files: Sequence[Path], known: Collection[str]) -> Iterator[Outcome]:
    """Yield how well each secret is guessed from all releases, beside the guess from the first alone."""
    engine, secrets = world.engine, world.sensitive or world.kept
    assert isinstance(engine, DuckDBEngine)  # others lack "several_sources"
    if not secrets or not files or not world.published:
        yield NotApplicable(ATTACK, INFERENCE, "It needs releases with a column beside the quasi-identifiers.")
        return
    with engine.catalog.detaching():
        others = []
        for file in files:
            alias = names.unused("sqlanon_other", [name for name, *_ in engine.catalog.databases()])
            engine.attach(file, alias, read_only=True, replayed=False)
            others.append(Place(alias, "main", CANDIDATES).table)
        for secret in secrets:
            place, key = world.beside.index(secret), len(world.beside)
            if secret in known:
                yield NotApplicable(ATTACK, INFERENCE, f"{secret!r} is a quasi-identifier of another release: known.")
                continue
            alone = count_guesses(world, [(most_frequent([], [place]), [])], [place])
            naive = most_frequent([], [place]), ()
            found = count_guesses(world, [(_best(world, place, others), [key])], [place], naive=naive)
            finding = described(
                world, ATTACK, secret, found, "the quasi-identifiers, and all releases,", "the first release"
            )
            yield replace(finding, control=None, figures={**finding.figures, "certain_in_one": alone.certain})


def _best(world: PolicyWorld, place: int, others: Sequence[exp.Expr]) -> exp.Select:
    """Return the guess of each type and key: of the values that all releases leave, that of the largest product."""
    key = other(len(world.beside))
    query = exp.select(column(TYPE, "keyed"), named(column(KEY, "keyed"), key), column(other(place), "shares"))
    query = query.from_(_keyed(world)).join(_shares(place).subquery("shares"), on=_alike("shares", "keyed"))
    query = query.join(table(names.KNOWN_WORDS, "words"), on=_word_of(place, "shares"))
    score: exp.Expr = column(SHARE, "shares")
    for number_of, relation in enumerate(others):
        own, covered = f"own_{number_of}", f"covered_{number_of}"
        about = equal(column(SECRET), exp.Literal.string(world.beside[place]))
        held = exp.select(column(KEY), column(WORD), column(SHARE)).from_(relation.copy()).where(about)
        keys = exp.select(column(KEY)).distinct().from_(relation.copy()).where(about.copy())
        of_key = equal(column(KEY, covered), column(KEY, "keyed"))
        query = query.join(keys.subquery(covered), on=of_key, join_type="left")
        met = both([equal(column(KEY, own), column(KEY, "keyed")), same(column(WORD, own), column(WORD, "words"))])
        query = query.join(held.subquery(own), on=met, join_type="left")
        query = query.where(exp.or_(is_null(column(KEY, covered)), not_null(column(KEY, own))))
        share = exp.Coalesce(this=column(SHARE, own), expressions=[number(1)])
        score = exp.Mul(this=score, expression=share)
    by = [column(TYPE), column(key)]
    query = query.select(named(exp.Round(this=score, decimals=number(DECIMALS)), SCORE))
    place_of = row_number(exp.Neg(this=column(SCORE)), column(other(place)), partition=[item.copy() for item in by])
    choices = exp.Window(this=count_rows(), partition_by=[item.copy() for item in by])
    every = exp.Window(this=exp.Sum(this=column(SCORE)), partition_by=[item.copy() for item in by])
    sure = exp.Div(this=exp.Mul(this=number(1000), expression=column(SCORE)), expression=every, typed=False)
    shown = [*by, named(column(other(place)), guessed(place)), named(place_of, "place"), named(choices, CHOICES)]
    ranked = exp.select(*shown, named(bigint(exp.Floor(this=sure)), CONFIDENCE)).from_(query.subquery("scored"))
    return first_of(ranked)
