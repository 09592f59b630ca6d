"""Attacks by reasoning: what follows from how a release came about, for whoever knows its rules and not its source.

The rules are those of the manifest beside the release; of each class, the rule is the most special one by which it can
read as it does. Classes that can be of two rules, none more specific than the other, are left aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.assess.attack import first_fit, left_behind, statements
from sqlanon.assess.attack.downcoding import Downcoded, downcode, downcode_single
from sqlanon.assess.attack.facts import INFERENCE, SINGLING_OUT, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.first_fit import CLASS, CLASSES, GENERAL, PAIRS, SPECIAL, create_anew
from sqlanon.assess.attack.left_behind import HOMES, VALUE, VALUES
from sqlanon.assess.attack.world import PolicyWorld
from sqlanon.core.compiler.encoded_source import COVERED
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models.distinct_l_diversity import DistinctLDiversity
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import LocalRecoding, Patterns
from sqlanon.core.policy.transformation import LEAST_HOLD
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    as_keys,
    both,
    column,
    count_rows,
    cte,
    either_bits,
    equal,
    masked,
    named,
    number,
    same,
    sum_if,
    table,
    total,
    union_all,
    with_ctes,
)

REFINEMENT, DOWNCODING, MINIMALITY = "refinement", "downcoding", "minimality"
TEXT_KEYS = f"{names.PREFIX}reasoned_texts"
"""The bits of each text at each level: ``attribute``, ``t``, ``level``, ``key_<w>``."""
READ, TREE, NUMBER = "read", "tree", "number"


@dataclass(frozen=True, slots=True)
class Reasoned:
    """The rules of a release.

    Attributes:
        rules: those of the manifest; of one node for all records, first those that are one level below it.
        several: they are the rules of patterns or of local recoding, in whichever order they were tried.
        held: the share of the records that chance held back, so that nothing is certain.
    """

    rules: tuple[Node, ...]
    several: bool
    held: float


def by_refinement(world: PolicyWorld) -> Outcome:
    """Return for how many published records a quasi-identifier is known finer than it was published."""
    found = _read_rules(world, REFINEMENT, INFERENCE)
    if isinstance(found, NotApplicable):
        return found
    if not found.several:
        reason = "One node publishes all records: a class of it excludes no value that its texts stand for."
        return NotApplicable(REFINEMENT, INFERENCE, reason)
    catalog, engine = world.encoding.catalog, world.engine
    refined = first_fit.conclude(engine, catalog, found.rules)
    left_behind.find_homes(engine, catalog)
    contradicted = int(engine.run("contradicted", _contradicted())[0][0])
    certain = first_fit.Refined(refined.records, 0, 0, 0) if found.held else refined
    believed = {f"believed_{name}": n for name, n in refined.to_dict().items() if name != "records"}
    return Finding(
        attack=REFINEMENT,
        risk=INFERENCE,
        columns=world.quasi_identifiers,
        attempts=refined.records,
        successes=certain.finer,
        how="Exclude the values by which a record would be in a published class of a more specific rule; a success has "
        "a column that is then certain to be finer than it was published.",
        meaning=_meaning_of(certain, refined, found.held),
        figures={"narrowed": certain.narrowed, "original": certain.original, **believed, "contradicted": contradicted},
    )


def _meaning_of(certain: first_fit.Refined, believed: first_fit.Refined, held: float) -> str:
    if held:
        return (
            f"Nothing is certain, because chance held {held:.0%} of the records back. Anyone who believes otherwise "
            f"takes a column of {believed.finer:,} of {believed.records:,} records for finer than it was published."
        )
    if not certain.narrowed:
        return "The rules exclude no value that a published text stands for."
    return (
        f"Of {certain.records:,} published records {certain.narrowed:,} have a column of which values are excluded; "
        f"{certain.finer:,} have one that is known finer than it was published, {certain.original:,} one that is known."
    )


def by_downcoding(world: PolicyWorld) -> Outcome:
    """Return how many published records can be written finer than they were published, and be right."""
    models = [model.type for model in world.policy.models]
    if any(kind != "k_anonymity" for kind in models) or world.policy.entity is not None:
        reason = "Classes may have failed for other reasons than their number of records."
        return NotApplicable(DOWNCODING, SINGLING_OUT, reason)
    found = _read_rules(world, DOWNCODING, SINGLING_OUT)
    if isinstance(found, NotApplicable):
        return found
    catalog, engine, k = world.encoding.catalog, world.engine, _least(world)
    believed = downcode(engine, catalog, found.rules, k) if found.several else downcode_single(engine, catalog, k)
    certain = Downcoded(believed.records, 0, 0) if found.held else believed
    return Finding(
        attack=DOWNCODING,
        risk=SINGLING_OUT,
        columns=world.quasi_identifiers,
        attempts=certain.records,
        successes=certain.finer,
        how="Write records of a class with the parts that were not published, each of which has fewer than k; a "
        "success is a record that is certain to generalize one of the source, and is finer than it was published.",
        meaning=_downcoded(certain, found.held),
        figures={"classes": certain.classes, "believed": believed.finer},
    )


def _downcoded(found: Downcoded, held: float) -> str:
    if held:
        return f"Nothing is certain, because chance held {held:.0%} of the records back."
    if not found.finer:
        return "No record can be written finer than it was published with certainty."
    return (
        f"{found.finer:,} of {found.records:,} published records can be written finer than they were published, "
        f"because nothing finer would have held k-anonymity ({found.classes:,} classes)."
    )


def by_minimality(world: PolicyWorld) -> Iterator[Outcome]:
    """Yield, per sensitive column, of how many persons fewer values are left than the models promise."""
    others = [model for model in world.policy.models if model.type not in ("k_anonymity", "distinct_l_diversity")]
    diverse = [model for model in world.policy.models if isinstance(model, DistinctLDiversity)]
    if others or len(diverse) != 1 or world.policy.entity is not None:
        reason = "The attack is one on distinct l-diversity of one column, beside k-anonymity alone."
        yield NotApplicable(MINIMALITY, INFERENCE, reason)
        return
    [model] = diverse
    found = _read_rules(world, MINIMALITY, INFERENCE)
    if isinstance(found, NotApplicable):
        yield found
        return
    catalog, least = world.encoding.catalog, int(model.l)
    if least < 2 or not catalog.sensitive:
        yield NotApplicable(MINIMALITY, INFERENCE, "The model asks for one value.")
        return
    sensitive = catalog.sensitive[0]
    create_anew(world.engine, "values of classes", VALUES, _values_of_classes(world))
    infer = left_behind.infer if found.several else left_behind.infer_single
    believed = infer(world.engine, catalog, sensitive, k=_least(world), l=least)
    by_size = found.several and _by_this_policy(world)
    certain = left_behind.Inferred(believed.persons) if by_size else believed
    yield Finding(
        attack=MINIMALITY,
        risk=INFERENCE,
        columns=(sensitive.name,),
        attempts=believed.persons,
        successes=certain.few_right,
        how="Take it that classes that were not published failed for their sensitive values, and leave each person the "
        "values that are then possible; a success is a person of whom certainly fewer are left than l.",
        meaning=_few(certain, believed, by_size),
        figures={"certain": certain.certain_right, **{f"believed_{n}": v for n, v in believed.to_dict().items()}},
    )


def _few(certain: left_behind.Inferred, believed: left_behind.Inferred, by_size: bool) -> str:
    if by_size:
        return (
            "Nothing is certain: rules take classes by their size, and sensitive values have no part in it. "
            f"Anyone who believes otherwise is right about the value of {believed.certain_right:,} of "
            f"{believed.certain:,} persons."
        )
    if not certain.few:
        return "That the node is the best leaves every person as many values as the model promises."
    return (
        f"Of {certain.few:,} persons fewer than l values are left, of {certain.certain:,} one, because the node is the "
        "best."
    )


def _least(world: PolicyWorld) -> int:
    """Return the k of k-anonymity; 1 without it."""
    return max((int(m.k) for m in world.policy.models if isinstance(m, KAnonymity)), default=1)


def _read_rules(world: PolicyWorld, attack: str, risk: str) -> Reasoned | NotApplicable:
    """Read the rules and the classes of a release, or say why there is nothing to reason from."""
    reason = ""
    found = None
    if not world.quasi_identifiers or not world.published:
        reason = "The release has no classes to reason about."
    elif world.manifest is None:
        reason = "There is no manifest beside the release, so that its rules are not known."
    elif isinstance(world.policy.transformation, Patterns) and world.policy.transformation.solver == "exact":
        reason = "The exact solver puts records where the sum of what is suppressed is least, and tries no rule first."
    else:
        found = _rules_of(world, world.manifest)
        if found is None:
            reason = "The manifest lists no rules that fit the policy."
        elif not found.several and (tied := _ties(world)):
            reason = tied
    if found is None or reason:
        return NotApplicable(attack, risk, reason)
    first_fit.load_rules(world.engine, world.encoding.catalog, found.rules)
    create_anew(world.engine, "texts with their bits", TEXT_KEYS, _text_keys(world))
    create_anew(world.engine, "classes of rules", CLASSES, _classes(world, found))
    return found


def _ties(world: PolicyWorld) -> str:
    """Return why it does not follow for one node that a level less would have been better; '' where it does."""
    quality = world.policy.quality
    if quality.measure not in ("loss", "precision", "non_uniform_entropy", "discernibility", "average_class_size"):
        return "Under this measure a node that generalizes less need not be better."
    if quality.aggregate not in (None, "arithmetic_mean", "sum"):
        return "Under this aggregate a node that generalizes less need not be better."
    certificate: Any = (world.manifest or {}).get("certificate")
    if not isinstance(certificate, Mapping) or certificate.get("optimal") is not True:
        return "The manifest does not say that the node is proven best."
    return ""


def _rules_of(world: PolicyWorld, manifest: Mapping[str, Any]) -> Reasoned | None:
    """Return the rules that a manifest lists; None if they do not fit the catalog."""
    catalog = world.encoding.catalog
    asked = world.policy.transformation
    if asked is not None:
        listed = manifest.get("rules")
        rules = [_node(world, rule.get("levels")) for rule in listed] if isinstance(listed, list) else []
        known = [rule for rule in rules if rule is not None]
        if not known or len(known) < len(rules):
            return None
        hold = _held(world, manifest, asked) if isinstance(asked, LocalRecoding) else 0.0
        return Reasoned(tuple(dict.fromkeys(known)), several=True, held=hold if len(known) > 1 else 0.0)
    columns = manifest.get("columns")
    listed = columns if isinstance(columns, list) else []
    node = _node(world, {item.get("name"): item["level"] for item in listed if "level" in item})
    if node is None:
        return None
    weights = {c.name: (float(c.weight), c.min_level or 0) for c in world.policy.quasi_identifiers}
    least = [
        node[i] if not weights[a.name][0] or a.losses else weights[a.name][1] for i, a in enumerate(catalog.attributes)
    ]
    return Reasoned((*left_behind.minimal_nodes(node, least), node), several=False, held=0.0)


def _held(world: PolicyWorld, manifest: Mapping[str, Any], asked: LocalRecoding) -> float:
    """Return the share of the records that was held back: as the manifest says, or where it does not, the policy.

    Less than a policy may ask for protects nobody, and counts as none.
    """
    said = manifest.get("hold")
    if isinstance(said, int | float) and 0 <= said < 1:
        return float(said) if said >= LEAST_HOLD else 0.0
    return float(asked.hold) if _by_this_policy(world) else 0.0


def _by_this_policy(world: PolicyWorld) -> bool:
    """Return whether the manifest has the fingerprint of the policy. Otherwise the release may have been made in
    another way than the policy says, and nothing is taken for protected that the manifest does not vouch for."""
    return (world.manifest or {}).get("policy_fingerprint") == world.policy.fingerprint()


def _node(world: PolicyWorld, levels: Any) -> Node | None:
    """Return the node of levels by column; None if they are none of the catalog."""
    attributes = world.encoding.catalog.attributes
    if not isinstance(levels, Mapping) or any(a.name not in levels for a in attributes):
        return None
    node = tuple(levels[a.name] for a in attributes)
    fits = all(isinstance(v, int) and 0 <= v < a.height for v, a in zip(node, attributes, strict=True))
    return node if fits else None


def _text_keys(world: PolicyWorld) -> exp.Query:
    """Return the bits of each text at each level at which all its values share them."""
    catalog = world.encoding.catalog
    words = range(catalog.words)
    parts = []
    for i, attribute in enumerate(catalog.attributes):
        for level in range(attribute.height):
            bits = [masked(column(names.key(w), TREE), number(attribute.mask(level, w))) for w in words]
            met = [
                equal(column("attribute", TREE), number(i)),
                equal(column(COVERED, TREE), number(1)),
                same(column("value", TREE), column("value", NUMBER)),
            ]
            query = exp.select(column("attribute", READ), column("t", READ), column("level", READ))
            least = [named(exp.Min(this=item), names.key(w)) for w, item in enumerate(bits)]
            query = query.select(*least).from_(table(names.KNOWN_TEXTS, READ))
            of_value = [equal(column(name, READ), column(name, NUMBER)) for name in ("attribute", "v")]
            query = query.join(table(names.KNOWN_VALUES, NUMBER), on=both(of_value))
            query = query.join(table(names.LOOKUP, TREE), on=both(met))
            query = query.where(
                both([equal(column("attribute", READ), number(i)), equal(column("level", READ), number(level))])
            )
            query = query.group_by(column("attribute", READ), column("t", READ), column("level", READ))
            alike = [equal(exp.Min(this=item.copy()), exp.Max(this=item.copy())) for item in bits]
            parts.append(query.having(both(alike)))
    return union_all(parts)


def _classes(world: PolicyWorld, found: Reasoned) -> exp.Query:
    """Return ``CLASSES``: the classes of the release with the most special rule by which they can read as they do."""
    catalog = world.encoding.catalog
    words = range(catalog.words)
    places = [number(i) for i in range(len(found.rules))] if found.several else [number(len(found.rules) - 1)]
    parts: list[exp.Query] = []
    for place in places:
        node = found.rules[int(place.name)]
        query = exp.select(column(statements.CLASS, "all"), named(place, "rule"), column(names.COUNT, "all"))
        query = query.from_(table(names.RELEASED_CLASSES, "all"))
        bits: list[list[exp.Expr]] = [[] for _ in words]
        for i, level in enumerate(node):
            alias = f"texts_{i}"
            met = [
                equal(column("attribute", alias), number(i)),
                equal(column("level", alias), number(level)),
                equal(column("t", alias), column(statements.text(i), "all")),
            ]
            query = query.join(table(TEXT_KEYS, alias), on=both(met))
            for w in words:
                bits[w].append(column(names.key(w), alias))
        parts.append(query.select(*as_keys(exp.paren(either_bits(own)) for own in bits)))
    fitting = union_all(parts)
    other = exp.select(number(1)).from_(table("fitting", "other"))
    met = [
        equal(column(SPECIAL, "pair"), column("rule", "other")),
        equal(column(GENERAL, "pair"), column("rule", "one")),
    ]
    other = other.join(table(PAIRS, "pair"), on=both(met)).where(equal(column(CLASS, "other"), column(CLASS, "one")))
    shown = [column(name, "one") for name in (CLASS, "rule", *map(names.key, words), names.COUNT)]
    only = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[column(CLASS, "one")])
    least = exp.select(*shown, named(only, "rules")).from_(table("fitting", "one"))
    least = least.where(exp.not_(exp.Exists(this=other)))
    final = exp.select(*(column(name) for name in (CLASS, "rule", *map(names.key, words), names.COUNT)))
    final = final.from_(least.subquery("least")).where(equal(column("rules"), number(1)))
    return with_ctes(final, [cte("fitting", fitting, materialized=True)])


def _values_of_classes(world: PolicyWorld) -> exp.Select:
    """Return ``VALUES``: the codes of the sensitive values of each class, with their records."""
    catalog = world.encoding.catalog
    sensitive = catalog.sensitive[0]
    position = len(catalog.attributes)
    place = world.beside.index(sensitive.name)
    code = masked(column(names.key(sensitive.word), TREE), number(sensitive.code))
    query = exp.select(column(statements.CLASS, "row"), named(code, VALUE), named(count_rows(), names.COUNT))
    query = query.from_(table(names.RELEASED_ROWS, "row"))
    met: list[exp.Expr] = [
        equal(column("place", "word"), number(place)),
        equal(column("o", "word"), column(statements.other(place), "row")),
    ]
    query = query.join(table(names.KNOWN_WORDS, "word"), on=both(met))
    of_value = [equal(column("attribute", TREE), number(position)), same(column("value", TREE), column("word", "word"))]
    query = query.join(table(names.LOOKUP, TREE), on=both(of_value))
    return query.group_by(column(statements.CLASS, "row"), code.copy())


def _contradicted() -> exp.Select:
    """Return how many published records, at least, have a value that was excluded: those of a class beyond the records
    of the source that can be in it."""
    can = (
        exp.select(column(CLASS), named(total(column(names.COUNT)), "can")).from_(table(HOMES)).group_by(column(CLASS))
    )
    beyond = exp.Sub(
        this=column(names.COUNT, "all"), expression=exp.Coalesce(this=column("can", "can"), expressions=[number(0)])
    )
    query = exp.select(named(beyond, "beyond")).from_(table(CLASSES, "all"))
    query = query.join(can.subquery("can"), on=equal(column(CLASS, "all"), column(CLASS, "can")), join_type="left")
    more = exp.GT(this=column("beyond"), expression=number(0))
    return exp.select(sum_if(more, column("beyond"))).from_(query.subquery("beyond"))
