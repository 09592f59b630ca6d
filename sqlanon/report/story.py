"""What a policy asks for, what it promises and what it does not promise, in plain sentences.

They are taken from the policy alone, so that they hold nothing of the data: neither values nor counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlanon.core.models.k_map import SIGNIFICANCE
from sqlanon.core.policy import LocalRecoding, Patterns, Policy, Transformation
from sqlanon.core.policy.facts import Model
from sqlanon.report.settings import limit_of
from sqlanon.report.wording import counted, figure

DROPPED = "left out"
"""The name of the row of ``asked`` that is for the operator alone: a release does not name what it leaves out."""
IDENTITY = ("k_anonymity", "profile_k")
"""Models that say how many a class holds at least."""
CLOSENESS = {
    "t_closeness": "t-closeness",
    "delta_disclosure": "δ-disclosure privacy",
    "beta_likeness": "β-likeness",
}
DIVERSITY = ("distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity")
MEAN = "class_mean"
"""The value of ``publish`` that is made of the records of a class."""
NAMED = 4
"""Columns that a sentence names, at most."""
REVIEW = (
    "These figures support a review of the release by a person who knows who will read it, and what else these readers "
    "can know. They are no determination that the data is anonymous in the sense of a law."
)
"""What a report is, and what it is not."""


def asked(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Return what a policy asks for, as names with words."""
    columns = {role: [c.name for c in policy.columns if c.role == role and not c.travels] for role in _ROLES}
    rows = [(words, ", ".join(columns[role])) for role, words in _ROLES.items() if columns[role]]
    models = [_model(model) for model in policy.privacy]
    models += [_model(model, column.name) for column in policy.columns for model in column.models]
    rows.append(("how safe it must be", "; ".join(models) or "no privacy model is asked for"))
    rows.append(("who is counted", "records" if policy.entity is None else "persons (entities), not their records"))
    rows.append(("what may be suppressed", f"at most {limit_of(policy)}"))
    rows.append(("how records are changed", _transformation(policy)))
    if policy.publish:
        values = [
            f"{name} ({value.replace('_', ' ')})" for item in policy.publish for name, value in item.columns.items()
        ]
        rows.append(("numbers and dates for generalized values", ", ".join(values)))
    if travelling := _travelling(policy):
        rows.append(("published where another column allows it", travelling))
    if policy.accept:
        rows.append(("published though they identify", f"{', '.join(policy.accept)} (the policy accepts this)"))
    return tuple(rows)


_ROLES = {
    "quasi_identifier": "what others may know of a person (quasi-identifiers)",
    "sensitive": "what must not be inferred (sensitive)",
    "keep": "published as it is, beside them",
    "pseudonym": "published as a pseudonym, by which the records of a person are linked",
    "shift": "dates, shifted by one number of days a person",
    "drop": DROPPED,
}
"""The rows of the columns, by role."""


def promised(policy: Policy) -> tuple[str, ...]:
    """Return what holds of the release, a sentence a model; each is audited in what was written."""
    listed: list[tuple[Model, str | None]] = [(model, None) for model in policy.privacy]
    listed += [(model, column.name) for column in policy.columns for model in column.models]
    who = "records" if policy.entity is None else "persons"
    found = [_PROMISES.get(m.type, _other_promise)(m, column, who) for m, column in listed]
    return tuple(found) or ("Nothing: the policy names no privacy model.",)


def not_promised(policy: Policy) -> tuple[str, ...]:
    """Return what the models of a policy leave open, a sentence each."""
    return tuple(_not_promised(policy))


def _not_promised(policy: Policy) -> Iterator[str]:
    types = {model.type for model in policy.privacy}
    watching = {model.type: column.name for column in policy.columns for model in column.models}
    kept = [c.name for c in policy.columns if c.role in ("keep", "sensitive")]
    if types & {*IDENTITY} and not watching:
        about = f" of {_some(kept)}" if kept else ""
        yield (
            f"Inference is not excluded: k-anonymity hides which record is whose, but where all records of a class "
            f"share a value{about}, anyone who finds the class learns it."
        )
    if any(kind in watching for kind in DIVERSITY):
        yield (
            "Inference by likelihood is not excluded: ℓ-diversity asks for several values in a class, but one of them "
            "may be far more frequent there than elsewhere, and values may be alike."
        )
    if near := [name for kind, name in CLOSENESS.items() if kind in watching]:
        yield (
            f"What the whole release says of everybody can be inferred of each person: {' and '.join(near)} "
            f"{'limits' if len(near) == 1 else 'limit'} only what a class says beyond that."
        )
    if not types & {*IDENTITY}:
        yield "A class may be small: k-anonymity is not asked for."
    if "k_map" in types and "k_anonymity" not in types:
        yield (
            "Who is known to be in the data may be found: k-map counts the persons of the population, and a class of "
            "the release may hold a single record."
        )
    if "profile_k" in types and kept:
        yield (
            f"What is published beside the quasi-identifiers ({_some(kept)}) adds up over a person's records: where "
            "these are linked, it may single a person out although each value alone is frequent."
        )
    known = f", such as {_some(kept)}" if kept else ""
    yield (
        "Singling out by other knowledge is not excluded: anyone who knows more of a person than the quasi-identifiers"
        f"{known}, may find fewer records than a class holds, or a single one."
    )
    for model in policy.privacy:
        if model.type == "profile_k" and "at_most" in model.parameters:
            yield (
                f"Singling out by more records is not excluded: anyone who knows more than "
                f"{counted(int(model.parameters['at_most']), 'record')} of a person, or how many records the person "
                "has, may find a single person where records are linked."
            )
        if model.type == "bounded_knowledge":
            most = int(model.parameters["at_most"])
            yield (
                f"Singling out by more knowledge is not excluded: anyone who knows more than {counted(most, 'value')} "
                "of a person's quasi-identifiers may find fewer records that agree with them, or a single one."
            )
    if "delta_presence" not in types:
        yield "That somebody is in the table is not hidden, if that can be known otherwise or is likely."
    yield (
        "Other releases of the same persons are not considered: anyone who lays two of them side by side may learn "
        "more than each of them says."
    )
    if means := [item.name for item in policy.publish if MEAN in item.columns.values()]:
        yield (
            f"Class means come from the records of a class: those of {_some(means)} say more of its persons than the "
            "hierarchy does, and of a class of few nearly their values."
        )
    yield from _not_promised_by_key(policy)
    yield from _not_promised_of_rules(policy.transformation)
    if policy.suppressed == "redact":
        yield "How many records were suppressed is not hidden: each of them is in the release as a redacted row."


def _not_promised_of_rules(asked: Transformation | None) -> Iterator[str]:
    """Return what the rule that published a record leaves open."""
    if isinstance(asked, LocalRecoding) and asked.hold:
        yield (
            "Records are not all changed in the same way. Chance held some of them back, so that how a record was "
            "changed excludes no value that its class shows; but it can make one likelier than another."
        )
    elif asked is not None:
        yield (
            "Records are not all changed in the same way: how a record was changed says that milder ways were not "
            "enough for it (refinement attack), if the order of the rules becomes known."
        )


def _not_promised_by_key(policy: Policy) -> Iterator[str]:
    """Return what pseudonyms and shifted dates leave open."""
    if any(column.role == "pseudonym" for column in policy.columns):
        shared = policy.key is not None and policy.key.context is not None
        by_key = (
            ", in all releases of one context, and anyone with the key finds the person behind each" if shared else ""
        )
        yield f"Pseudonyms do not make anonymous: they link the records of a person{by_key}."
    if moved := [column.name for column in policy.columns if column.role == "shift"]:
        yield (
            f"Shifted dates ({_some(moved)}) hide when something was, not how long it took: days between a person's "
            "dates are exact, and anyone who knows them, or one of the dates, may find the person and all other dates."
        )


def _some(names: Sequence[str]) -> str:
    """Return names in a sentence, of many the first ones."""
    more = len(names) - NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:NAMED])} and {more} more"


def _model(model: Model, column: str | None = None) -> str:
    known = _NAMES.get(model.type)
    words = known(model.parameters) if known else f"{model.type} of an extension{_listed(model.parameters)}"
    return words if column is None else f"{words} of {column}"


def _listed(parameters: Mapping[str, Any]) -> str:
    shown = [f"{name} = {value}" for name, value in parameters.items() if isinstance(value, int | float | str)]
    return f" ({', '.join(shown)})" if shown else ""


_NAMES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "k_anonymity": lambda p: f"k-anonymity with k = {p['k']}",
    "profile_k": lambda p: (
        f"profile k, persons by all of their records, with k = {p['k']}"
        if "at_most" not in p
        else f"profile k, persons by at most {counted(int(p['at_most']), 'record')} of theirs, with k = {p['k']}"
    ),
    "distinct_l_diversity": lambda p: f"distinct ℓ-diversity with ℓ = {p['l']}",
    "entropy_l_diversity": lambda p: f"entropy ℓ-diversity with ℓ = {p['l']}",
    "recursive_l_diversity": lambda p: f"recursive (c, ℓ)-diversity with c = {p['c']}, ℓ = {p['l']}",
    "t_closeness": lambda p: f"t-closeness with t = {p['t']}",
    "delta_disclosure": lambda p: f"δ-disclosure privacy with δ = {p['delta']}",
    "beta_likeness": lambda p: f"{'enhanced ' * bool(p.get('enhanced'))}β-likeness with β = {p['beta']}",
    "bounded_knowledge": lambda p: (
        f"bounded knowledge with k = {p['k']} for {counted(int(p['at_most']), 'known quasi-identifier')} at most"
    ),
    "delta_presence": lambda p: f"δ-presence between {p['min']} and {p['max']}",
    "k_map": lambda p: f"k-map with k = {p['k']}{_estimate(p)}",
    "average_risk": lambda p: f"average risk of at most {p['threshold']}",
    "sample_uniqueness": lambda p: f"sample uniqueness of at most {p['threshold']}",
    "population_uniqueness": lambda p: (
        f"population uniqueness of at most {p['threshold']} of {p['population']:,} ({p['estimator'].capitalize()})"
    ),
}
"""The names of the models, with their parameters."""


def _estimate(parameters: Mapping[str, Any]) -> str:
    """Return how k-map takes the size of a class in the population, where it is not counted."""
    population = parameters.get("population")
    if not isinstance(population, int):
        return ""
    kind = "zero-truncated Poisson" if "truncated" in str(parameters.get("estimator")) else "Poisson"
    return f", estimated for a population of {population:,} ({kind})"


_Promise = Callable[[Model, str | None, str], str]


def _k_anonymity(model: Model, column: str | None, who: str) -> str:
    k = int(model.parameters["k"])
    return (
        f"Anyone who knows the quasi-identifiers of a person, and nothing else, finds at least {k:,} {who} in the "
        f"release that agree with them, or none (k-anonymity): the guess which of them is the person is right in 1 of "
        f"{k:,} cases at most."
    )


def _profile_k(model: Model, column: str | None, who: str) -> str:
    k = int(model.parameters["k"])
    if (known := model.parameters.get("at_most")) is not None:
        return (
            f"Anyone who knows the quasi-identifiers of at most {counted(int(known), 'record')} of a person, and "
            f"nothing else, finds at least {k:,} persons with these among their records in the release, or none "
            f"(profile k, bounded): the guess which of them is the person is right in 1 of {k:,} cases at most."
        )
    return (
        f"Anyone who knows the quasi-identifiers of all records of a person, and nothing else, finds at least {k:,} "
        "persons with the very same records in the release, or none (profile k), also where records are linked: "
        f"the guess which of them is the person is right in 1 of {k:,} cases at most."
    )


def _distinct(model: Model, column: str | None, who: str) -> str:
    values = counted(int(model.parameters["l"]), "different value")
    return f"Each class holds at least {values} of {column} (distinct ℓ-diversity)."


def _entropy(model: Model, column: str | None, who: str) -> str:
    return (
        f"The values of {column} in each class are as hard to guess as at least {model.parameters['l']} equally "
        "frequent ones (entropy ℓ-diversity)."
    )


def _recursive(model: Model, column: str | None, who: str) -> str:
    values = counted(int(model.parameters["l"]), "different value")
    return (
        f"Each class holds at least {values} of {column}, and its most frequent one is less than "
        f"{model.parameters['c']} times as frequent as the rare ones together (recursive ℓ-diversity)."
    )


def _closeness(model: Model, column: str | None, who: str) -> str:
    return (
        f"The values of {column} in each class are distributed as in the whole table, to a distance of "
        f"{model.parameters['t']} (t-closeness): finding the class says little more than the table does."
    )


def _disclosure(model: Model, column: str | None, who: str) -> str:
    factor = figure(2.0 ** min(float(model.parameters["delta"]), 64))
    return (
        f"No value of {column} that occurs in a class is {factor} times as frequent there as in the whole table, or "
        f"more, nor as rare by that factor (δ-disclosure privacy): finding the class changes what one may guess by "
        "less than that."
    )


def _likeness(model: Model, column: str | None, who: str) -> str:
    factor = figure(1 + float(model.parameters["beta"]))
    less = ", and frequent values less than that" if model.parameters.get("enhanced") else ""
    return (
        f"No value of {column} is more than {factor} times as frequent in a class as in the whole table{less} "
        "(β-likeness): finding the class makes no value much more likely."
    )


def _presence(model: Model, column: str | None, who: str) -> str:
    low, high = (figure(100 * float(model.parameters[name])) for name in ("min", "max"))
    return (
        f"Anyone who knows the quasi-identifiers of a person of the population takes it with a probability of {low} to "
        f"{high} % that this person is in the data (δ-presence)."
    )


def _k_map(model: Model, column: str | None, who: str) -> str:
    k = int(model.parameters["k"])
    if not isinstance(model.parameters.get("population"), int):
        return (
            f"Anyone who knows the quasi-identifiers of a person of the population, and not whether this person is in "
            f"the data, finds at least {k:,} persons of the population that agree with a record of the release "
            f"(k-map): the link is right in 1 of {k:,} cases at most (journalist's risk)."
        )
    return (
        f"By estimate, at least {k:,} persons of the population of {model.parameters['population']:,} agree with each "
        f"record of the release (k-map): who does not know whether a person is in the data links a record rightly in 1 "
        f"of {k:,} cases at most. It takes the data for a random sample of the population, and errs for a class with a "
        f"probability of {figure(100 * float(model.parameters.get('significance', SIGNIFICANCE)))} % at most."
    )


def _bounded(model: Model, column: str | None, who: str) -> str:
    k, most = int(model.parameters["k"]), int(model.parameters["at_most"])
    return (
        f"Anyone who knows {counted(most, 'value')} of a person's quasi-identifiers at most, whichever they are, and "
        f"nothing else, finds at least {k:,} {who} in the release that agree with them, or none (bounded knowledge): "
        f"the guess which of them is the person is right in 1 of {k:,} cases at most."
    )


def _average_risk(model: Model, column: str | None, who: str) -> str:
    share = figure(100 * float(model.parameters["threshold"]))
    return (
        "Anyone who knows the quasi-identifiers of all persons of the release, and nothing else, takes the right "
        f"record for {share} % of them at most, on average (average risk): single records may be easier to find."
    )


def _sample_uniqueness(model: Model, column: str | None, who: str) -> str:
    share = figure(100 * float(model.parameters["threshold"]))
    return (
        f"At most {share} % of the published records share their quasi-identifiers with no other (sample uniqueness)."
    )


def _population_uniqueness(model: Model, column: str | None, who: str) -> str:
    share, estimator = figure(100 * float(model.parameters["threshold"])), model.parameters["estimator"]
    return (
        f"By the estimate of {estimator.capitalize()}, at most {share} % of the population of "
        f"{model.parameters['population']:,} are unique in it by the quasi-identifiers (population uniqueness). It "
        "takes the release for a random sample of the population."
    )


def _other_promise(model: Model, column: str | None, who: str) -> str:
    return f"Each class meets {_model(model, column)}."


_PROMISES: dict[str, _Promise] = {
    "k_anonymity": _k_anonymity,
    "profile_k": _profile_k,
    "distinct_l_diversity": _distinct,
    "entropy_l_diversity": _entropy,
    "recursive_l_diversity": _recursive,
    "t_closeness": _closeness,
    "delta_disclosure": _disclosure,
    "beta_likeness": _likeness,
    "delta_presence": _presence,
    "k_map": _k_map,
    "bounded_knowledge": _bounded,
    "average_risk": _average_risk,
    "sample_uniqueness": _sample_uniqueness,
    "population_uniqueness": _population_uniqueness,
}
"""What each model promises."""


def _transformation(policy: Policy) -> str:
    if isinstance(policy.transformation, Patterns):
        return "by patterns: a record keeps some of its quasi-identifiers as they are, and loses the others"
    if isinstance(policy.transformation, LocalRecoding):
        return "by local recoding: records may be generalized to different levels"
    return "full-domain generalization: every quasi-identifier at one level in all records"


def meaning_of_nulls(policy: Policy) -> tuple[str, ...]:
    """Return what a NULL of the release means, and how what was taken away reads."""
    if policy.nulls == "basic":
        first = (
            "The quasi-identifiers of the release hold no NULL of the source: records with one are excluded (basic "
            "match)."
        )
    else:
        first = (
            "A NULL in a quasi-identifier was a NULL in the source; it is treated as a value of its own (extended "
            "match), and reads as the top of its hierarchy where the column is published at the top."
        )
    if isinstance(policy.transformation, Patterns):
        hidden = "A value that was taken away reads “*”, not NULL."
    else:
        hidden = "A value that was taken away reads as the top of its hierarchy (mostly “*”), not NULL."
    if policy.suppressed == "redact":
        records = "A suppressed record is in the release as a row that reads “[suppressed]” in every column."
    else:
        records = "A suppressed record is not in the release at all."
    columns = [c for c in policy.columns if c.role in ("keep", "sensitive") and c.travels is None]
    blank = [
        f"{item.name} is NULL (blank), besides where the source has none, in records whose {item.travels.column} is "
        "generalized further than what it follows from."
        for item in policy.columns
        if item.travels is not None
    ]
    beside = ("In the columns that are published as they are, a NULL is one of the source.",) if columns else ()
    return (first, hidden, records, *beside, *blank)


def _travelling(policy: Policy) -> str:
    """Return the columns that travel with a quasi-identifier, with this."""
    return ", ".join(f"{item.name} (with {item.travels.column})" for item in policy.columns if item.travels is not None)
