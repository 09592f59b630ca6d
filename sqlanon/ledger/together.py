"""The relations that a source is encoded with, so that its release is judged with the earlier ones of its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.compiler.members import member_values, sensitive_texts
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Policy
from sqlanon.core.policy.representatives import CLASS_MEAN
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import JudgedTogether
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    both,
    canonical,
    column,
    count_if,
    count_rows,
    equal,
    named,
    number,
    same,
    table,
    union_all,
)
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.facts import EarlierRelease, in_one_hand
from sqlanon.ledger.joint import OF_EQUAL_VALUES, FormerValues, former_policy, label_source
from sqlanon.ledger.releases import KNOWN_AGAIN, ReleaseLedger

ENOUGH_PERSONS, ENOUGH_PAIRS, LIKE_CHANCE, DEVIATIONS = 200, 20, 1.05, 4
"""From how many persons on their classes are compared with their records, and from how many ordered pairs on who agree
in a column; how much more often than by chance persons of one class have to agree, and by how many standard deviations
of independent pairs."""
OF_CLASSES = ("k_anonymity", *OF_EQUAL_VALUES, "t_closeness", "beta_likeness")
"""Models that a class meets if it is a union of classes that do: what is published is a union of joint cells."""


def judge_together(ledger: ReleaseLedger, policy: Policy, encoded: Policy, opened: Source) -> JudgedTogether | None:
    """Return how a source is encoded beside the earlier releases of its ledger; None where there are none.

    Args:
        ledger: its persons are loaded.
        encoded: what the source would be encoded with alone.

    Raises:
        InputError: hardly anybody of an earlier release is known again, and nobody accepted that.
        UnsupportedError: the policy asks for what is not judged together with other releases.
    """
    earlier = ledger.earlier()
    if not earlier:
        return None
    refuse_strangers(ledger, opened, earlier)
    refuse_together(policy)
    _refuse_unwatched(policy, earlier)
    engine, types = opened.engine, opened.types
    persons, members = table(names.LEDGER_PERSONS), [ledger.load_members(engine, release) for release in earlier]
    former = _former_values(ledger, policy, opened, earlier)
    labelled = label_source(engine, opened.relation, types, ledger.person_column, persons, members, former)
    _refuse_apart(policy, ledger.of_source(), earlier, labelled.members)
    readable = {**opened.readable, **{item.name: "VARCHAR" for item in former}}
    return JudgedTogether(labelled.relation, labelled.members, former_policy(encoded, former), readable)


def refuse_together(policy: Policy) -> None:
    """Raise UnsupportedError if a policy asks for what is not judged together with earlier releases."""
    others = sorted({model.type for model in policy.models} - {*OF_CLASSES})
    limit = instead = ""
    if policy.ledger is not None and policy.ledger.hold:
        limit = "newcomers who are held back beyond the suppression limit (hold: true) are"
        instead = "leave out hold: they are held back, and count as suppressed"
    elif policy.entity is not None:
        limit, instead = "entities are", "name a key of the records in place of entity (ledger: {record: …})"
    elif policy.transformation is not None:
        limit, instead = "patterns and local recoding are", "leave out transformation"
    elif others:
        limit, instead = f"the model {others[0]} is", f"use {', '.join(OF_CLASSES)}"
    elif any(CLASS_MEAN in asked.columns.values() for asked in policy.publish):
        limit, instead = "means of classes are", f"leave out {CLASS_MEAN}"
    if limit:
        raise UnsupportedError(
            f"The ledger holds earlier releases, and {limit} not judged together with them.",
            hint=f"{instead}; or take another ledger, if nobody has both releases.",
        )


def refuse_strangers(ledger: ReleaseLedger, opened: Source, earlier: Sequence[EarlierRelease]) -> None:
    """Raise InputError if hardly anybody of an earlier release is in the source, or others are under their keys.

    Such a release would be judged as one of other persons, whatever the two show together.
    """
    for release in earlier:
        if release.entry.release in ledger.accepted:
            continue
        met = equal(column("person", "then"), column("person", "now"))
        members = ledger.load_members(opened.engine, release)
        persons = exp.select(column("value", "now"), column("class", "then")).from_(aliased(members, "then"))
        persons = persons.join(table(names.LEDGER_PERSONS, "now"), on=met)
        count = exp.select(named(count_rows(), "persons")).from_(persons.copy().subquery("known"))
        known = int(opened.engine.run("persons known again", count)[0][0])
        reason = ""
        if known < KNOWN_AGAIN * release.entry.persons:
            reason = f"fewer than a tenth of the {release.entry.persons} persons of release {release.number} are in it"
        elif known >= ENOUGH_PERSONS and _as_by_chance(ledger, opened, release, persons):
            reason = (
                f"the records of the persons of release {release.number} have no more to do with its classes than by "
                "chance, as if other persons had their keys now"
            )
        if reason:
            raise InputError(
                f"By the column {ledger.person_column!r} of the source, {reason}. If keys were given anew, nobody is "
                "judged together with that release, although they are in both.",
                hint="take the column that identifies persons as before. If they are other persons indeed, say so: "
                f"sqlanon ledger check POLICY --accept {release.number}.",
            )
        if 2 * known <= release.entry.persons:
            ledger.note(
                f"At most half of the {release.entry.persons} persons of release {release.number} are in the source "
                f"by the column {ledger.person_column!r}. The others count as gone: if their keys changed, nobody "
                "judges what the two releases show of them. Compare the keys with those of that release."
            )


def _as_by_chance(ledger: ReleaseLedger, opened: Source, release: EarlierRelease, persons: exp.Select) -> bool:
    """Return whether persons of one class of a release agree in no quasi-identifier of it more often than any persons.

    A column in which hardly any persons agree, or in which not even all who agree being of one class would be more than
    chance, tells nothing; nor does one that is not there any more. The classes may be made by it alone.

    Args:
        persons: ``value`` and ``class`` of those who are in the source.
    """
    shown = [*release.entry.levels] if {*release.entry.levels} <= {*opened.types} else []
    key = EntityColumn(ledger.person_column, opened.types[ledger.person_column]).text("records")
    for name in shown:
        own = exp.select(named(canonical(name, opened.types[name], "records"), "text"), column("class", "known"))
        own = own.from_(exp.select("*").from_(opened.relation.copy()).subquery("records"))
        own = own.join(persons.copy().subquery("known"), on=equal(key.copy(), column("value", "known")))
        parts = (("class", "text"), ("class",), ("text",), ())
        pairs = [_pairs(own, number_, columns) for number_, columns in enumerate(parts)]
        found = {
            int(part): float(count or 0) for part, count in opened.engine.run("pairs of persons", union_all(pairs))
        }
        both_agree, of_classes, of_texts, every = (found[part] for part in range(len(parts)))
        chance = of_classes * of_texts / every
        if of_texts < ENOUGH_PAIRS or not _beyond(of_texts, chance) or _beyond(both_agree, chance):
            return False
    return bool(shown)


def _beyond(pairs: float, chance: float) -> bool:
    """Return whether so many pairs are more than chance gives."""
    return pairs > LIKE_CHANCE * chance and pairs - chance > DEVIATIONS * (2 * chance) ** 0.5


def _pairs(rows: exp.Select, part: int, columns: Sequence[str]) -> exp.Select:
    """Return how many ordered pairs of rows agree in some columns, with the number of the part."""
    groups = exp.select(named(count_rows(), "n")).from_(rows.copy().subquery("rows")).group_by(*map(column, columns))
    n = exp.cast(column("n"), "DOUBLE")
    pairs = exp.Sum(this=exp.Mul(this=n, expression=exp.paren(exp.Sub(this=n.copy(), expression=number(1)))))
    return exp.select(named(number(part), "part"), named(pairs, "pairs")).from_(groups.subquery("groups"))


def _refuse_unwatched(policy: Policy, earlier: Sequence[EarlierRelease]) -> None:
    """Raise UnsupportedError if models of an earlier release watch a column that it shows, and the policy lacks them.

    A joint cell could then lack the values that the earlier release promises its classes. Models that are not judged
    together cannot be asked for again; of these it is enough that the column is watched.
    """
    own = {item.name: {model.type for model in item.models} for item in policy.sensitive if item.models}
    for release in earlier:
        promised = {(model["column"], model["type"]) for model in release.entry.models if "column" in model}
        for name, kind in sorted(promised):
            kept = own.get(name, set())
            if name not in release.entry.columns or kind in kept or (kept and kind not in OF_CLASSES):
                continue
            raise UnsupportedError(
                f"Release {release.number} of the ledger shows column {name!r} and promises its values by "
                f"{kind}, a model which the policy has not: nothing keeps that promise for persons who are in both "
                "releases.",
                hint=f"give {name!r} the role sensitive with this model, beside others; or take another ledger, if "
                "nobody has both releases.",
            )


def _refuse_apart(
    policy: Policy, every: Sequence[EarlierRelease], earlier: Sequence[EarlierRelease], members: Sequence[int]
) -> None:
    """Raise UnsupportedError if some earlier releases were not judged together with each other, and it matters.

    That no cell of a few releases is too small rests on enough persons having the same classes in all earlier ones
    (``models.joint_cells``), and with models of values on the values of these. Nobody judged that of recipients who do
    not share with each other.

    Args:
        every: the releases of the source, in order.
        members: the persons by the numbers of their earlier classes.
    """
    apart = [
        (a, b)
        for a, b in combinations(earlier, 2)
        if not in_one_hand(a.entry, b.entry, [item.entry for item in every if item.number < b.number])
    ]
    if not apart:
        return
    if min(members[1:], default=0) < min(item.entry.k for item in earlier) or any(i.models for i in policy.sensitive):
        one, other = (item.number for item in apart[0])
        raise UnsupportedError(
            f"Who has the new release, or shares with its recipient, may have release {one} of the ledger and release "
            f"{other}, but these two were not judged together: what all three show is not judged.",
            hint="name a recipient who shares with one of the two alone (ledger: {recipient: …, colludes: …}), or let "
            "the policies of recipients who share with a third say that they share with each other, too.",
        )


def _former_values(
    ledger: ReleaseLedger, policy: Policy, opened: Source, earlier: Sequence[EarlierRelease]
) -> list[FormerValues]:
    """Return the values of watched columns that earlier releases show, where a person has another value now.

    Raises:
        UnsupportedError: a release shows a column of whose values the ledger holds nothing.
    """
    watched = [item.name for item in policy.sensitive if item.models]
    shown = [(release, name) for release in earlier for name in watched if name in release.entry.columns]
    if not shown:
        return []
    engine, types, person = opened.engine, opened.types, ledger.person_column
    sensitive = {name: types[name] for name in dict.fromkeys(name for _, name in shown)}
    rows = exp.select(exp.Star(), named(column(person), names.ENTITY)).from_(opened.relation.copy()).subquery("present")
    ledger.load_value_digests(engine, sensitive_texts(rows, sensitive))
    now = member_values(rows, EntityColumn(person, types[person]), sensitive)
    engine.create("values of the source", names.PRESENT_VALUES, now, replayed=False)
    former = []
    for release, name in shown:
        values = ledger.load_values(engine, release)
        own = exp.select(column("person"), column("value")).from_(values.copy())
        own = own.where(equal(column("attribute"), exp.Literal.string(name)))
        count = exp.select(named(count_rows(), "persons")).from_(own.copy().subquery("values"))
        if int(engine.run("values of a release", count)[0][0]) != release.entry.persons:
            raise UnsupportedError(
                f"Release {release.number} of the ledger shows column {name!r}, of whose values it holds nothing.",
                hint=f"give the column a role without models, or forget release {release.number} if nobody has it.",
            )
        if _changed(engine, own, name):
            place = watched.index(name)
            former.append(FormerValues(f"{names.FORMER}{release.number}_{place}", name, own.subquery("values")))
    engine.drop(names.PRESENT_VALUES)
    engine.drop(names.LEDGER_VALUES)
    return former


def _changed(engine: Engine, values: exp.Select, name: str) -> bool:
    """Return whether persons have another value now than in a release."""
    differs = exp.Not(this=exp.paren(same(column("value", "then"), column("value", "now"))))
    met = both(
        [
            equal(column("person", "then"), column("person", "now")),
            equal(column("attribute", "now"), exp.Literal.string(name)),
        ]
    )
    count = exp.select(named(count_if(differs), "changed")).from_(values.copy().subquery("then"))
    return bool(engine.run("changed values", count.join(table(names.PRESENT_VALUES, "now"), on=met))[0][0])
