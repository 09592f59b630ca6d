"""From the sizes of classes to the figures of risk, each with its sentence.

f is the size of a class of the sample, n the sum of all, C their number, F the size of the same class in the
population, N that of the population. The definitions are those of docs/risk.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlanon.assess.risk.facts import AT_RISK, AT_RISK_OVER, Figure, Risk, over
from sqlanon.assess.risk.thresholds import thresholds
from sqlanon.core.sizes.histogram import PopulationClasses, SizeHistogram, in_buckets
from sqlanon.core.words import count, counted, expected, probability, share, spelled
from sqlanon.errors import InputError

DEFAULT_K = 5
"""The size below which a class is counted as small, where nobody names one."""
EACH = ", each once in every class of theirs"
"""Said of a number of entities that is a sum over classes."""
WITHOUT_NULL = "without a NULL in a quasi-identifier"


@dataclass(frozen=True, slots=True)
class WeightedRisk:
    """The risk of the classes of a survey, estimated by the weights of its records: see ``individual``.

    Attributes:
        highest: the greatest risk of a record.
        expected: the sum of the risks of all records.
        population: the sum of all weights.
        light: classes whose weights add up to less than their records, which were taken to be the whole population.
    """

    highest: float
    expected: float
    population: float
    light: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What figures are asked for, and in whose words.

    Attributes:
        quasi_identifiers: what the attacker knows.
        unit: ``record`` or ``entity``.
        nulls: ``extended`` or ``basic``.
        k: the size below which a class is small.
        population_size: N, for the estimates of population uniqueness; None leaves them out.
        partial: the relation has records that take no part (basic match): sentences name those that do.
        entities: distinct entities, where these are counted and their number is known: classes may count them more
            than once.
    """

    quasi_identifiers: tuple[str, ...]
    unit: str = "record"
    nulls: str = "extended"
    k: int = DEFAULT_K
    population_size: int | None = None
    partial: bool = False
    entities: int | None = None

    def each(self, number: int) -> str:
        """Return what to say after a sum over classes of so many entities: more than there are count more than once."""
        return EACH if self.entities is not None and number > self.entities else ""

    @property
    def attributes(self) -> str:
        """The attributes of a target, as in ``knows a target's seven attributes``."""
        number = len(self.quasi_identifiers)
        return f"{spelled(number)} attribute{'' if number == 1 else 's'}" if number else ""

    @property
    def these(self) -> str:
        """``these attributes``, or what stands in their place."""
        return "this attribute" if len(self.quasi_identifiers) == 1 else "these attributes"

    @property
    def plural(self) -> str:
        """The unit in the plural."""
        return "records" if self.unit == "record" else "entities"

    @property
    def whom(self) -> str:
        """Which records or entities take part, after their noun; empty where all do."""
        if not self.partial:
            return ""
        return f" {WITHOUT_NULL}" if self.unit == "record" else f" with a record {WITHOUT_NULL}"

    def counted(self, number: int) -> str:
        """So many records or entities that take part."""
        return counted(number, self.unit) + self.whom + self.each(number)


def assess(
    sizes: SizeHistogram,
    setting: Setting,
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
    setting = replace(setting, partial=bool(sizes.excluded) and not released)
    left_out = _left_out(sizes.excluded) if setting.partial else ""
    light = _light(weighted.light) if weighted is not None and weighted.light else ""
    figures = [] if not sizes.records else [
        *_prosecutor(sizes, setting),
        *_at_risk(sizes, setting),
        *_journalist(sizes, setting, population),
        *_sample(sizes, setting),
        *_population_uniques(sizes, setting),
        *([] if weighted is None else _individual(sizes, setting, weighted)),
        *_columns(sizes, setting),
    ]  # fmt: skip
    return Risk(
        quasi_identifiers=setting.quasi_identifiers,
        unit=setting.unit,
        nulls=setting.nulls,
        k=setting.k,
        records=sizes.records,
        classes=sizes.classes,
        smallest_class=sizes.smallest,
        largest_class=sizes.largest,
        suppressed=sizes.suppressed,
        excluded=sizes.excluded,
        figures=tuple(figures),
        sizes=in_buckets(sizes),
        thresholds=thresholds(sizes, setting.unit, partial=setting.partial),
        notes=tuple(note for note in (left_out, light) if note),
        left_out=left_out,
        histogram=sizes,
    )


def with_entities(risk: Risk, setting: Setting, below: int) -> Risk:
    """Return the figures of classes of entities with how many entities these are.

    Args:
        below: entities that stand in a class of fewer than k, each once.
    """
    entities = setting.entities
    if not entities or not risk.figures:
        return risk
    value = below / entities
    these = f"{_those(below, entities, setting)} in a class of fewer than {spelled(setting.k)} {setting.plural}"
    found = Figure(
        "entities_below_k", "sample", "share", value, None if risk.suppressed else value,
        f"{these} (k = {setting.k}) with a record at least; each counts once.", records=below,
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


def _over_all(figure: Figure, sizes: SizeHistogram) -> Figure:
    """Return a figure that is an average over records with its value where suppressed records count as 0."""
    if figure.value is None:
        return figure
    return replace(figure, of_all=figure.value * sizes.records / sizes.all_records)


def _knows(setting: Setting) -> str:
    """Return who the attacker of the prosecutor model is."""
    if not setting.quasi_identifiers:
        return "An attacker who knows nothing but that a target is in the table"
    return f"An attacker who knows a target's {_known(setting)} and that they are in the table"


def _known(setting: Setting) -> str:
    """Return what the attacker knows of a target."""
    if not setting.partial:
        return setting.attributes
    return f"{setting.attributes}, {'none of them' if len(setting.quasi_identifiers) > 1 else 'not'} NULL,"


def _prosecutor(sizes: SizeHistogram, setting: Setting) -> Iterator[Figure]:
    assert sizes.smallest is not None and sizes.largest is not None
    highest, lowest = 1 / sizes.smallest, 1 / sizes.largest
    who = _knows(setting)
    if sizes.smallest > 1:
        sentence = f"{who} finds them with a probability of {probability(highest)} at most."
    else:
        alone = sizes.classes_of(1)
        those = (
            f"the one {setting.unit} that is" if alone == 1 else f"one of the {counted(alone, setting.unit)} that are"
        )
        target = "the target's record" if setting.unit == "record" else "the target"
        several = setting.each(sizes.records)
        when = f" if {target} is {'one of those that are' if several else those} alone in a class"
        if 1 < alone == sizes.records:
            place = "each of its classes" if several else "its class"
            when = f": every {setting.unit}{setting.whom} is alone in {place}"
        sentence = f"{who} finds them with certainty{when}."
    yield Figure("prosecutor_highest", "prosecutor", "probability", highest, highest, sentence)
    average = sizes.classes / sizes.records
    sentence = f"On average over the {setting.plural}{setting.whom}, such an attacker succeeds {_chance(average)}"
    figure = Figure("prosecutor_average", "prosecutor", "probability", average, average, sentence)
    yield _over_all(figure, sizes)
    sentence = f"The {setting.plural} of the largest class are found {_chance(lowest)}"
    yield Figure(
        "prosecutor_lowest", "prosecutor", "probability", lowest, 0.0 if sizes.suppressed else lowest, sentence
    )


def _chance(value: float) -> str:
    """Return how probable something is, as the end of a sentence."""
    return "with certainty." if value == 1 else f"with a probability of {probability(value)}."


def _at_risk(sizes: SizeHistogram, setting: Setting) -> Iterator[Figure]:
    cited = dict(AT_RISK)
    if setting.k > 1 and Fraction(1, setting.k) not in cited.values():
        cited[f"{1 / setting.k:.3g}"] = Fraction(1, setting.k)
    for text, threshold in sorted(cited.items(), key=lambda item: item[1]):
        least = -(-threshold.denominator // threshold.numerator)  # 1/f > θ where f < 1/θ
        records = sizes.records_below(least)
        which = _those(records, sizes.records, setting)
        where, key = "in classes" if records else "there is no class", f"{AT_RISK_OVER}{text}"
        sentence = (
            f"{which} found with a probability of more than {over(key, setting.k)}: {where} of fewer than "
            f"{spelled(least)} {setting.plural}."
        )
        yield _share(key, "prosecutor", records, sizes, sentence)


def _those(records: int, of: int, setting: Setting) -> str:
    """Return the subject of a sentence about some records, with its verb."""
    if records and setting.each(of):
        which = "all" if records == of else f"{count(records)} ({share(records / of)})"
        return f"Of the {setting.counted(of)}, {which} {'is' if records == 1 else 'are'}"
    if records == of:
        some = f"All {count(of)} {setting.plural}" if of > 1 else f"The one {setting.unit}"
        return f"{some}{setting.whom} {'are' if of > 1 else 'is'}"
    if setting.partial:
        some = f"{count(records)} ({share(records / of)})" if records else "none"
        return f"Of the {setting.counted(of)}, {some} {'are' if records > 1 else 'is'}"
    if not records:
        return f"No {setting.unit} is"
    return f"{counted(records, setting.unit)} ({share(records / of)}) {'is' if records == 1 else 'are'}"


def _share(key: str, group: str, records: int, sizes: SizeHistogram, sentence: str) -> Figure:
    """Return the share of some records among all, with their number."""
    value = records / sizes.records
    return _over_all(Figure(key, group, "share", value, value, sentence, records=records), sizes)


def _journalist(sizes: SizeHistogram, setting: Setting, population: PopulationClasses | None) -> Iterator[Figure]:
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
        known = f"a target's {_known(setting)} and" if setting.quasi_identifiers else "nothing of a target but"
        texts = (
            f"An attacker who knows {known} that they are in the population, and not whether they are in the table, "
            f"finds them with a probability of {probability(highest)} at most.",
            f"On average over the {setting.plural}{setting.whom}, such an attacker succeeds {_chance(average)}",
        )
        marketer = "who links the whole table with the table of the population"
    bound = population is None
    yield Figure("journalist_highest", "journalist", "probability", highest, highest, texts[0], bound=bound)
    yield _over_all(
        Figure("journalist_average", "journalist", "probability", average, average, texts[1], bound=bound), sizes
    )
    right = average * sizes.records
    known = setting.counted(sizes.records)
    whom = (
        f"all {known}" if 1 < right == sizes.records else f"about {expected(right)} of the {known} ({share(average)})"
    )
    sentence = f"An attacker {marketer} is expected to identify {whom}."
    yield _over_all(Figure("marketer", "marketer", "share", average, average, sentence, records=right), sizes)


def _sample(sizes: SizeHistogram, setting: Setting) -> Iterator[Figure]:
    alone, pairs, small = sizes.classes_of(1), 2 * sizes.classes_of(2), sizes.records_below(setting.k)
    unit, of = setting.unit, sizes.records
    rest = f"no other {unit} shares {setting.these}" if alone else f"each shares {setting.these} with another"
    yield _share("sample_uniques", "sample", alone, sizes, f"{_those(alone, of, setting)} alone: {rest}.")
    rest = ": anyone who knows one of the two finds the other" if pairs else ""
    yield _share("sample_pairs", "sample", pairs, sizes, f"{_those(pairs, of, setting)} in a class of two{rest}.")
    rest = f"in a class of fewer than {spelled(setting.k)} {setting.plural} (k = {setting.k})"
    yield _share("sample_below_k", "sample", small, sizes, f"{_those(small, of, setting)} {rest}.")


def _population_uniques(sizes: SizeHistogram, setting: Setting) -> Iterator[Figure]:
    whole = setting.population_size
    if whole is None:
        return
    refuse_small_population(sizes, setting, whole)
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
            if setting.partial:
                sentence = sentence.replace("none is unique", f"no {setting.unit}{setting.whom} is unique")
        else:
            sentence = (
                f"By {name.capitalize()}, {share(value)} of the population of {count(whole)} are estimated to be "
                f"unique in it by {setting.these}: about {expected(uniques)} of the "
                f"{setting.counted(sizes.records)} here."
            )
        figure = Figure(f"population_uniques_{name}", "population", "share", value, value, sentence, records=uniques)
        yield _over_all(figure, sizes)


def refuse_small_population(sizes: SizeHistogram, setting: Setting, whole: int) -> None:
    """Raise InputError when a population is smaller than the sample that was drawn from it."""
    if whole < sizes.all_records:
        raise InputError(
            f"The population of {count(whole)} is smaller than the sample of "
            f"{counted(sizes.all_records, setting.unit)}.",
            hint="give the number of people of whom the table holds some: its own, and those whom it could have held.",
        )


def _individual(sizes: SizeHistogram, setting: Setting, weighted: WeightedRisk) -> Iterator[Figure]:
    highest, average = weighted.highest, weighted.expected / sizes.records
    stand = f"the {setting.counted(sizes.records)} stand for about {count(round(weighted.population))}"
    sentence = f"By their weights {stand}; the one that is easiest to find is found "
    yield Figure("individual_highest", "individual", "probability", highest, highest, sentence + _chance(highest))
    article = "a" if setting.unit == "record" else "an"
    sentence = (
        f"On average over the {setting.plural}{setting.whom}, {article} {setting.unit} is found {_chance(average)}"
    )
    yield _over_all(Figure("individual_average", "individual", "probability", average, average, sentence), sizes)
    sentence = (
        f"An attacker who links all {setting.plural}{setting.whom} with the population is expected to identify about "
        f"{expected(weighted.expected)} of them."
    )
    yield Figure(
        "expected_reidentifications", "individual", "count", weighted.expected, weighted.expected, sentence,
        records=weighted.expected,
    )  # fmt: skip


def _columns(sizes: SizeHistogram, setting: Setting) -> Iterator[Figure]:
    value = sizes.classes / sizes.records
    sentence = (
        f"{setting.these.capitalize()} have {counted(sizes.classes, 'combination')} among "
        f"{setting.counted(sizes.records)}."
    )
    if len(setting.quasi_identifiers) == 1:
        sentence = sentence.replace(" have ", " has ").replace("combination", "value")
    yield _over_all(Figure("distinction", "columns", "share", value, value, sentence, records=sizes.classes), sizes)
    if sizes.records < 2:
        sentence = f"There is only one {setting.unit}{setting.whom}, so no two to distinguish."
        yield Figure("separation", "columns", "share", None, None, sentence)
        return
    apart = _pairs(sizes.records) - sizes.pairs()
    value = apart / _pairs(sizes.records)
    drawn = f"Two {setting.plural}{setting.whom} drawn at random"
    sentence = f"{drawn} differ in {setting.these} with a probability of {share(value)}."
    yield Figure("separation", "columns", "share", value, apart / _pairs(sizes.all_records), sentence)


def _pairs(number: int) -> int:
    return number * (number - 1) // 2
