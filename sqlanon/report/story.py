"""The requests, the promises and the open risks of a policy, in plain sentences.

They are taken from the policy alone, so that they hold nothing of the data: neither values nor counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from sqlanon.core.hierarchies.wording import describe_level
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.policy import LocalRecoding, Patterns, Policy, Transformation
from sqlanon.core.publish.manifest import TO_READERS
from sqlanon.errors import attempt
from sqlanon.report.settings import limit_of, sample_of
from sqlanon.report.wording import counted

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
    """Return the requests of a policy, as names with words."""
    columns = {role: [c.name for c in policy.columns if c.role == role and not c.travels] for role in _ROLES}
    rows = [(words, ", ".join(columns[role])) for role, words in _ROLES.items() if columns[role]]
    models = [_words(model, parameters) for model, parameters in _models(policy)]
    rows.append(("how safe it must be", "; ".join(models) or "no privacy model is asked for"))
    rows.append(("who is counted", "records" if policy.entity is None else "persons (entities), not their records"))
    if policy.sample is not None:
        rows.append(("who is in it", f"a sample of {sample_of(policy)}, drawn with a key"))
    rows.append(("what may be suppressed", f"at most {limit_of(policy)}"))
    rows.append(("how records are changed", _transformation(policy)))
    if policy.publish:
        values = [
            f"{name} ({value.replace('_', ' ')})" for item in policy.publish for name, value in item.columns.items()
        ]
        rows.append(("numbers and dates for generalized values", ", ".join(values)))
    if travelling := _travelling(policy):
        rows.append(("published where another column allows it", travelling))
    if redacted := [f"{item.name} (by {item.redact})" for item in policy.columns if item.redact]:
        rows.append(("texts that a function rewrites", ", ".join(redacted)))
    levels = [f"{c.name} ({describe_level(c.hierarchy, c.level, None)})" for c in policy.columns if c.level is not None]
    if levels:
        rows.append(("published at one level of their hierarchy", ", ".join(levels)))
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
    """Return the promises of the release, a sentence a model; each is audited in the written rows."""
    who = "records" if policy.entity is None else "persons"
    promises = [_sentence(model, parameters, who) for model, parameters in _models(policy)]
    return tuple(promises) or ("Nothing: the policy names no privacy model.",)


def _models(policy: Policy) -> Iterator[tuple[PrivacyModel, Mapping[str, Any]]]:
    """Return the models of a policy with the parameters that it gives them."""
    entries = [*policy.privacy, *(model for column in policy.columns for model in column.models)]
    return zip(policy.models, (entry.parameters for entry in entries), strict=True)


def not_promised(policy: Policy) -> tuple[str, ...]:
    """Return the risks that the models of a policy leave open, a sentence each."""
    return tuple(_not_promised(policy))


def _not_promised(policy: Policy) -> Iterator[str]:
    types = {model.type for model in policy.privacy}
    kept = [c.name for c in policy.columns if c.role in ("keep", "sensitive")]
    yield from _of_inference(policy, types, kept)
    if not types & {*IDENTITY}:
        yield "A class may be small: k-anonymity is not asked for."
    if "k_map" in types and "k_anonymity" not in types:
        yield (
            "Who is known to be in the data may be found: k-map counts the persons of the population, and a class of "
            "the release may hold a single record."
        )
    yield from _of_singling_out(policy, types, kept)
    if "delta_presence" not in types:
        yield "That somebody is in the table is not hidden, if that can be known otherwise or is likely."
    yield from _of_other_releases(policy)
    if means := [item.name for item in policy.publish if MEAN in item.columns.values()]:
        yield (
            f"Class means come from the records of a class: those of {_some(means)} say more of its persons than the "
            "hierarchy does, and of a class of few nearly their values."
        )
    if policy.ledger is None and (policy.if_exists == "replace" or policy.like is not None):
        yield TO_READERS
    yield from _not_promised_by_key(policy)
    yield from _not_promised_of_rules(policy.transformation)
    if policy.suppressed == "redact":
        yield "How many records were suppressed is not hidden: each of them is in the release as a redacted row."


def _of_inference(policy: Policy, types: Set[str], kept: Sequence[str]) -> Iterator[str]:
    """Yield the values that can be inferred of a person whose class is found; ``kept`` are published as they are."""
    watching = {model.type for column in policy.columns for model in column.models}
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


def _of_singling_out(policy: Policy, types: Set[str], kept: Sequence[str]) -> Iterator[str]:
    """Yield how records can be singled out by more than the quasi-identifiers of a class."""
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


def _of_other_releases(policy: Policy) -> Iterator[str]:
    """Yield the promises and the risks of several releases."""
    cohorts = None if policy.ledger is None else policy.ledger.cohorts
    if cohorts is None:
        yield (
            "Other releases of the same persons are not considered: anyone who lays two of them side by side may learn "
            "more than each of them says."
        )
    else:
        yield "Of other releases of the same persons, those of this sequence are considered, and no others."
        most = "until enough others go" if cohorts.hold is None else f"in {counted(cohorts.hold, 'release')} at most"
        yield f"Rows may be of records that have left the source or changed since: they are shown as they were {most}."


def _not_promised_of_rules(asked: Transformation | None) -> Iterator[str]:
    """Yield the risks that the rule that published a record leaves open."""
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
    """Yield the risks that pseudonyms and shifted dates leave open."""
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


def _words(model: PrivacyModel, parameters: Mapping[str, Any]) -> str:
    """Return the name of a model with its parameters and its column."""
    own = attempt(f"The model {model.type!r}", lambda: getattr(model, "words", None))
    words = own or f"{model.type} of an extension{_listed(parameters)}"
    return words if model.column is None else f"{words} of {model.column}"


def _sentence(model: PrivacyModel, parameters: Mapping[str, Any], who: str) -> str:
    """Return the promise of a model, in its own words if it has some."""
    if sentence := getattr(model, "sentence", None):
        return str(attempt(f"The model {model.type!r}", lambda: sentence(who)))
    return f"Each class meets {_words(model, parameters)}."


def _listed(parameters: Mapping[str, Any]) -> str:
    shown = [f"{name} = {value}" for name, value in parameters.items() if isinstance(value, int | float | str)]
    return f" ({', '.join(shown)})" if shown else ""


def _transformation(policy: Policy) -> str:
    if isinstance(policy.transformation, Patterns):
        return "by patterns: a record keeps some of its quasi-identifiers as they are, and loses the others"
    if isinstance(policy.transformation, LocalRecoding):
        return "by local recoding: records may be generalized to different levels"
    if policy.ledger is not None and policy.ledger.cohorts is not None:
        return "full-domain generalization in cohorts: the records of a cohort at one level of every quasi-identifier"
    return "full-domain generalization: every quasi-identifier at one level in all records"


def meaning_of_nulls(policy: Policy) -> tuple[str, ...]:
    """Return the meaning of a NULL of the release, and the texts of values that were taken away."""
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
