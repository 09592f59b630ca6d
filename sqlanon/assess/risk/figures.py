"""From the sizes of classes to the figures of risk, each with its sentence.

f is the size of a class of the sample, n the sum of all, C their number, F the size of the same class in the
population, N that of the population. The definitions are those of docs/risk.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sqlanon.assess.risk.facts import AT_RISK, AT_RISK_OVER, Figure, Risk, over
from sqlanon.assess.risk.individual import WeightedRisk
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.assess.risk.thresholds import thresholds
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram, in_buckets
from sqlanon.core.words import count, counted, expected, probability, share, spelled
from sqlanon.errors import InputError


def assess(
    sizes: SizeHistogram,
    question: RiskQuestion,
    *,
    population: PopulationClasses | None = None,
    weighted: WeightedRisk | None = None,
    released: bool = False,
) -> Risk:
    """Return all figures of a relation from its classes.

    Args:
        released: the relation is a release, which does not hold the excluded records.

    Raises:
        InputError: the population is smaller than the sample.
    """
    question = replace(question, partial=bool(sizes.excluded) and not released)
    left_out = _left_out(sizes.excluded) if question.partial else ""
    light = _light(weighted.light) if weighted is not None and weighted.light else ""
    alone = _alone(weighted.alone) if weighted is not None and weighted.alone else ""
    figures = [] if not sizes.records else [
        *_prosecutor(sizes, question),
        *_at_risk(sizes, question),
        *_journalist(sizes, question, population),
        *_sample(sizes, question),
        *_population_uniques(sizes, question),
        *([] if weighted is None else _individual(sizes, question, weighted)),
        *_columns(sizes, question),
    ]  # fmt: skip
    return Risk(
        quasi_identifiers=question.quasi_identifiers,
        unit=question.unit,
        nulls=question.nulls,
        k=question.k,
        records=sizes.records,
        classes=sizes.classes,
        smallest_class=sizes.smallest,
        largest_class=sizes.largest,
        suppressed=sizes.suppressed,
        excluded=sizes.excluded,
        figures=tuple(figures),
        sizes=in_buckets(sizes),
        thresholds=thresholds(sizes, question.unit, partial=question.partial),
        notes=tuple(note for note in (left_out, light, alone) if note),
        left_out=left_out,
        histogram=sizes,
    )


def with_entities(risk: Risk, question: RiskQuestion, below: int) -> Risk:
    """Return the figures of classes of entities with how many entities these are.

    Args:
        below: entities that stand in a class of fewer than k, each once.
    """
    entities = question.entities
    if not entities or not risk.figures:
        return risk
    value = below / entities
    these = f"{_those(below, entities, question)} in a class of fewer than {spelled(question.k)} {question.plural}"
    found = Figure(
        "entities_below_k", "sample", "share", value, None if risk.suppressed else value,
        f"{these} (k = {question.k}) with a record at least; each counts once.", records=below,
    )  # fmt: skip
    at = next(i for i, figure in enumerate(risk.figures, start=1) if figure.key == "sample_below_k")
    return replace(risk, figures=(*risk.figures[:at], found, *risk.figures[at:]), entities=entities)


def _left_out(records: int) -> str:
    """Return what to know of records of the relation that take no part."""
    verb, them = ("takes", "it") if records == 1 else ("take", "them")
    return (
        f"{counted(records, 'record')} with a NULL in a quasi-identifier {verb} no part (NULL match basic). These "
        f"figures say nothing of {them}: anyone who sees {them} may single {them} out."
    )


def _light(classes: int) -> str:
    """Return what to know of classes whose weights add up to less than their records."""
    one = classes == 1
    return (
        f"The weights of {counted(classes, 'class')} add up to less than {'its' if one else 'their'} records: "
        f"{'it was' if one else 'they were'} taken to be all of {'its' if one else 'their'} population."
    )


def _alone(records: int) -> str:
    """Return what a column of weights gives away where it is published."""
    return (
        f"{counted(records, 'record')} {'has a weight' if records == 1 else 'have weights'} that no other record has: "
        "where the column of weights is published, it singles them out, however coarse the quasi-identifiers are."
    )


def _over_all(figure: Figure, sizes: SizeHistogram) -> Figure:
    """Return a figure that is an average over records with its value where suppressed records count as 0."""
    if figure.value is None:
        return figure
    return replace(figure, of_all=figure.value * sizes.records / sizes.all_records)


def _knows(question: RiskQuestion) -> str:
    """Return who the attacker of the prosecutor model is."""
    if not question.quasi_identifiers:
        return "An attacker who knows nothing but that a target is in the table"
    return f"An attacker who knows a target's {_known(question)} and that they are in the table"


def _known(question: RiskQuestion) -> str:
    """Return what the attacker knows of a target."""
    if not question.partial:
        return question.attributes
    return f"{question.attributes}, {'none of them' if len(question.quasi_identifiers) > 1 else 'not'} NULL,"


def _prosecutor(sizes: SizeHistogram, question: RiskQuestion) -> Iterator[Figure]:
    assert sizes.smallest is not None and sizes.largest is not None
    highest, lowest = 1 / sizes.smallest, 1 / sizes.largest
    who = _knows(question)
    if sizes.smallest > 1:
        sentence = f"{who} finds them with a probability of {probability(highest)} at most."
    else:
        alone = sizes.classes_of(1)
        those = (
            f"the one {question.unit} that is" if alone == 1 else f"one of the {counted(alone, question.unit)} that are"
        )
        target = "the target's record" if question.unit == "record" else "the target"
        several = question.each(sizes.records)
        when = f" if {target} is {'one of those that are' if several else those} alone in a class"
        if 1 < alone == sizes.records:
            place = "each of its classes" if several else "its class"
            when = f": every {question.unit}{question.whom} is alone in {place}"
        sentence = f"{who} finds them with certainty{when}."
    yield Figure("prosecutor_highest", "prosecutor", "probability", highest, highest, sentence)
    average = sizes.classes / sizes.records
    sentence = f"On average over the {question.plural}{question.whom}, such an attacker succeeds {_chance(average)}"
    figure = Figure("prosecutor_average", "prosecutor", "probability", average, average, sentence)
    yield _over_all(figure, sizes)
    sentence = f"The {question.plural} of the largest class are found {_chance(lowest)}"
    yield Figure(
        "prosecutor_lowest", "prosecutor", "probability", lowest, 0.0 if sizes.suppressed else lowest, sentence
    )


def _chance(value: float) -> str:
    """Return how probable something is, as the end of a sentence."""
    return "with certainty." if value == 1 else f"with a probability of {probability(value)}."


def _at_risk(sizes: SizeHistogram, question: RiskQuestion) -> Iterator[Figure]:
    cited = dict(AT_RISK)
    if question.k > 1 and Fraction(1, question.k) not in cited.values():
        cited[f"{1 / question.k:.3g}"] = Fraction(1, question.k)
    for text, threshold in sorted(cited.items(), key=lambda item: item[1]):
        least = -(-threshold.denominator // threshold.numerator)  # 1/f > θ where f < 1/θ
        records = sizes.records_below(least)
        which = _those(records, sizes.records, question)
        where, key = "in classes" if records else "there is no class", f"{AT_RISK_OVER}{text}"
        sentence = (
            f"{which} found with a probability of more than {over(key, question.k)}: {where} of fewer than "
            f"{spelled(least)} {question.plural}."
        )
        yield _share(key, "prosecutor", records, sizes, sentence)


def _those(records: int, of: int, question: RiskQuestion) -> str:
    """Return the subject of a sentence about some records, with its verb."""
    if records and question.each(of):
        which = "all" if records == of else f"{count(records)} ({share(records / of)})"
        return f"Of the {question.counted(of)}, {which} {'is' if records == 1 else 'are'}"
    if records == of:
        some = f"All {count(of)} {question.plural}" if of > 1 else f"The one {question.unit}"
        return f"{some}{question.whom} {'are' if of > 1 else 'is'}"
    if question.partial:
        some = f"{count(records)} ({share(records / of)})" if records else "none"
        return f"Of the {question.counted(of)}, {some} {'are' if records > 1 else 'is'}"
    if not records:
        return f"No {question.unit} is"
    return f"{counted(records, question.unit)} ({share(records / of)}) {'is' if records == 1 else 'are'}"


def _share(key: str, group: str, records: int, sizes: SizeHistogram, sentence: str) -> Figure:
    """Return the share of some records among all, with their number."""
    value = records / sizes.records
    return _over_all(Figure(key, group, "share", value, value, sentence, records=records), sizes)


def _journalist(sizes: SizeHistogram, question: RiskQuestion, population: PopulationClasses | None) -> Iterator[Figure]:
    assert sizes.smallest is not None
    if population is None:
        highest, average = 1 / sizes.smallest, sizes.classes / sizes.records
        unknown = (
            "Without a table of the population this is not known; it is at most the risk of a target in the table, "
        )
        texts = (
            unknown + f"{probability(highest)}, since all persons of the table are in the population.",
            unknown + f"{probability(average)} on average.",
        )
        marketer = "who links a register of the very people of the table with it"
    else:
        highest = 1 / min(members for _, members, _ in population.sizes)
        average = sum(size * classes / members for size, members, classes in population.sizes) / sizes.records
        known = f"a target's {_known(question)} and" if question.quasi_identifiers else "nothing of a target but"
        texts = (
            f"An attacker who knows {known} that they are in the population, and not whether they are in the table, "
            f"finds them with a probability of {probability(highest)} at most.",
            f"On average over the {question.plural}{question.whom}, such an attacker succeeds {_chance(average)}",
        )
        marketer = "who links the whole table with the table of the population"
    bound = population is None
    yield Figure("journalist_highest", "journalist", "probability", highest, highest, texts[0], bound=bound)
    yield _over_all(
        Figure("journalist_average", "journalist", "probability", average, average, texts[1], bound=bound), sizes
    )
    right = average * sizes.records
    known = question.counted(sizes.records)
    whom = (
        f"all {known}" if 1 < right == sizes.records else f"about {expected(right)} of the {known} ({share(average)})"
    )
    sentence = f"An attacker {marketer} is expected to identify {whom}."
    yield _over_all(Figure("marketer", "marketer", "share", average, average, sentence, records=right), sizes)


def _sample(sizes: SizeHistogram, question: RiskQuestion) -> Iterator[Figure]:
    alone, pairs, small = sizes.classes_of(1), 2 * sizes.classes_of(2), sizes.records_below(question.k)
    unit, of = question.unit, sizes.records
    rest = f"no other {unit} shares {question.these}" if alone else f"each shares {question.these} with another"
    yield _share("sample_uniques", "sample", alone, sizes, f"{_those(alone, of, question)} alone: {rest}.")
    rest = ": anyone who knows one of the two finds the other" if pairs else ""
    yield _share("sample_pairs", "sample", pairs, sizes, f"{_those(pairs, of, question)} in a class of two{rest}.")
    rest = f"in a class of fewer than {spelled(question.k)} {question.plural} (k = {question.k})"
    yield _share("sample_below_k", "sample", small, sizes, f"{_those(small, of, question)} {rest}.")


def _population_uniques(sizes: SizeHistogram, question: RiskQuestion) -> Iterator[Figure]:
    whole = question.population_size
    if whole is None:
        return
    refuse_small_population(sizes, question, whole)
    from sqlanon.core.sizes.population import pitman, zayatz

    model = pitman(sizes)
    estimates = {
        "zayatz": zayatz(sizes, whole),
        "pitman": None if model is None else model.uniques(whole) / whole,
    }
    if not sizes.classes_of(1):
        estimates["pitman"] = 0.0  # who is unique in the population is unique in the sample
    for name, value in estimates.items():
        if value is None:
            sentence = (
                "Pitman's model gives no estimate: the equations of its likelihood have no solution for these classes."
            )
            yield Figure(f"population_uniques_{name}", "population", "share", None, None, sentence)
            continue
        uniques = value * sizes.records
        if not sizes.classes_of(1):
            sentence = f"By {name.capitalize()}, none is unique in the population of {count(whole)}, as none is here."
            if question.partial:
                sentence = sentence.replace("none is unique", f"no {question.unit}{question.whom} is unique")
        else:
            sentence = (
                f"By {name.capitalize()}, {share(value)} of the population of {count(whole)} are estimated to be "
                f"unique in it by {question.these}: about {expected(uniques)} of the "
                f"{question.counted(sizes.records)} here."
            )
        figure = Figure(f"population_uniques_{name}", "population", "share", value, value, sentence, records=uniques)
        yield _over_all(figure, sizes)


def refuse_small_population(sizes: SizeHistogram, question: RiskQuestion, whole: int) -> None:
    """Raise InputError when a population is smaller than the sample that was drawn from it."""
    if whole < sizes.all_records:
        raise InputError(
            f"The population of {count(whole)} is smaller than the sample of "
            f"{counted(sizes.all_records, question.unit)}.",
            hint="give the number of people of whom the table holds some: its own, and those whom it could have held.",
        )


def _individual(sizes: SizeHistogram, question: RiskQuestion, weighted: WeightedRisk) -> Iterator[Figure]:
    highest, average = weighted.highest, weighted.expected / sizes.records
    stand = f"the {question.counted(sizes.records)} stand for about {count(round(weighted.population))}"
    sentence = f"By their weights {stand}; the one that is easiest to find is found "
    yield Figure("individual_highest", "individual", "probability", highest, highest, sentence + _chance(highest))
    article = "a" if question.unit == "record" else "an"
    sentence = (
        f"On average over the {question.plural}{question.whom}, {article} {question.unit} is found {_chance(average)}"
    )
    yield _over_all(Figure("individual_average", "individual", "probability", average, average, sentence), sizes)
    sentence = (
        f"An attacker who links all {question.plural}{question.whom} with the population is expected to identify about "
        f"{expected(weighted.expected)} of them."
    )
    yield Figure(
        "expected_reidentifications", "individual", "count", weighted.expected, weighted.expected, sentence,
        records=weighted.expected,
    )  # fmt: skip


def _columns(sizes: SizeHistogram, question: RiskQuestion) -> Iterator[Figure]:
    value = sizes.classes / sizes.records
    sentence = (
        f"{question.these.capitalize()} have {counted(sizes.classes, 'combination')} among "
        f"{question.counted(sizes.records)}."
    )
    if len(question.quasi_identifiers) == 1:
        sentence = sentence.replace(" have ", " has ").replace("combination", "value")
    yield _over_all(Figure("distinction", "columns", "share", value, value, sentence, records=sizes.classes), sizes)
    if sizes.records < 2:
        sentence = f"There is only one {question.unit}{question.whom}, so no two to distinguish."
        yield Figure("separation", "columns", "share", None, None, sentence)
        return
    apart = _pairs(sizes.records) - sizes.pairs()
    value = apart / _pairs(sizes.records)
    drawn = f"Two {question.plural}{question.whom} drawn at random"
    sentence = f"{drawn} differ in {question.these} with a probability of {share(value)}."
    yield Figure("separation", "columns", "share", value, apart / _pairs(sizes.all_records), sentence)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2
