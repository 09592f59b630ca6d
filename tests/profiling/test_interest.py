"""The order in which a draft gives columns room: what a table is about before what is beside it."""

import math
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from sqlanon.assess.profiling.drafting import draft
from sqlanon.assess.profiling.interest import (
    OF_A_PAIR,
    by_interest,
    is_a_number_of_things,
    says_how_old,
    subject_scores,
    tells_apart,
    worths_of,
)
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.searched import FLAG, NUMBERS, as_searched
from sqlanon.assess.profiling.wishes import floor_of
from sqlanon.core.lattice.catalog import Attribute


def _orders(records: int = 3_000, persons: int = 600) -> pa.Table:
    draw = random.Random(4)
    born = [draw.randrange(1940, 2005) for _ in range(persons)]
    sex = draw.choices("mf", k=persons)
    number, who, rows = 0, 0, []
    for _ in range(records):
        if draw.random() < 0.6:
            number, who = number + 1, draw.randrange(persons)
        rows.append((7_000 + 3 * number, 40_000 + 7 * who, sex[who], born[who]))
    data = dict(zip(("order_id", "customer_id", "sex", "birth_year"), zip(*rows, strict=True), strict=True))
    return pa.table(
        {
            **{name: pa.array(values) for name, values in data.items()},
            "gift": draw.choices("yn", k=records),
            "wrapped": draw.choices("yn", [1, 40], k=records),
            "town": draw.choices(["Aachen", "Bern", "Graz", "Linz"], k=records),
            "delivery_date": [f"2023-{1 + place % 12:02}-{1 + place % 28:02}" for place in range(records)],
            "paid_date": [f"2023-{1 + place % 12:02}-{1 + place % 27:02}" for place in range(records)],
            "category": draw.choices(["shoes", "coats", "hats", "bags"], k=records),
        }
    )


def test_the_subject_takes_turns_with_who_when_and_where() -> None:
    found = profile(_orders())
    names = by_interest([item for item in found.columns if item.role not in ("identifier", "drop")])
    assert names.index("category") == 0
    assert names.index("delivery_date") < names.index("sex") < names.index("town") < names.index("birth_year")
    assert names.index("paid_date") > names.index("birth_year"), "a second date says little beside the first"
    assert {*names[-2:]} == {"gift", "wrapped"}


def test_age_comes_before_a_date_in_tables_about_health() -> None:
    data = _orders().append_column("diabetes", [["y", "n"] * 1_500])
    found = profile(data.append_column("stroke", [["n", "n", "y"] * 1_000]))
    names = by_interest([item for item in found.columns if item.role not in ("identifier", "drop")])
    assert names.index("birth_year") < names.index("delivery_date") < names.index("town")


def test_arms_and_visits_say_more_than_who_asked_or_a_second_date() -> None:
    draw = random.Random(2)
    rows = [
        {
            "interviewer": draw.randrange(1, 14),
            "doctor_visits": draw.randrange(9),
            "even": draw.randrange(2),
            "uneven": int(draw.random() < 0.2),
            "visited": f"20{draw.randrange(10, 24)}-0{draw.randrange(1, 10)}-11",
            "left": f"20{draw.randrange(10, 24)}-0{draw.randrange(1, 10)}-12",
            "age": draw.randrange(20, 80),
            "bili": round(draw.random() * 9, 1),
            "grp": draw.choice(["CON", "INT"]),
        }
        for _ in range(900)
    ]
    found = {item.name: item for item in profile(pa.Table.from_pylist(rows)).columns}
    scores = subject_scores([*found.values()])
    assert scores["interviewer"] < 0 < scores["doctor_visits"] and found["grp"].topic == "study"
    order = ["bili", "age", "even", "uneven", "visited", "left"]
    worths = worths_of(order, found, scores)
    assert worths["uneven"] < worths["even"] / 2
    assert worths["left"] < 0.7 * worths["visited"], "a second date says little beside the first"


def test_the_weight_at_birth_is_what_a_table_is_about_and_names_nobody() -> None:
    """In ounces and in grams: no weight of a survey, no birth, and the one is generalized with the other."""
    draw = random.Random(9)
    ounces = [min(max(round(draw.gauss(117, 18)), 60), 170) for _ in range(1_500)]
    data = {
        "sex": draw.choices("mf", k=1_500),
        "mother_age": [draw.randrange(16, 44) for _ in range(1_500)],
        "age": [draw.randrange(200, 900) for _ in range(1_500)],
        "birth_weight_oz": ounces,
        "birth_weight_gm": [value * 28.35 for value in ounces],
    }
    drafted = draft(profile(pa.table(data)), output="o.parquet")
    assert drafted.policy.entity is None
    grams, ounces_too = (drafted.profile.column(f"birth_weight_{unit}") for unit in ("gm", "oz"))
    assert "quasi_identifier" in (grams.role, ounces_too.role) and grams.topic is None
    months = by_interest([drafted.profile.column(name) for name in ("sex", "birth_weight_gm", "age")])
    assert months == ["birth_weight_gm", "sex", "age"]


def test_what_another_follows_from_is_generalized_with_it() -> None:
    """A duration and its logarithm: the one does not give the other away to somebody who could not see it."""
    draw = random.Random(3)
    durations = [draw.randrange(1, 82) for _ in range(1_400)]
    data = {"duration_log": [str(math.log(value))[:9] for value in durations], "duration": durations}
    found = profile(pa.table(data | {"sex": draw.choices("mf", k=1_400)}))
    assert {found.column(name).role for name in data} == {"quasi_identifier", "drop"}


def test_a_table_is_about_what_it_is_called_what_decides_and_what_is_not_like_what_came_before() -> None:
    draw = random.Random(6)
    left = draw.choices("yn", [1, 4], k=2_000)
    data = {
        "shift": draw.choices("abc", k=2_000),
        "room": draw.choices("abcd", k=2_000),
        "price_net": [draw.randrange(1_000) / 100 for _ in range(2_000)],
        "price_gross": [draw.randrange(1_000) / 100 for _ in range(2_000)],
        "gone": left,
        "why": [draw.choice("pqr") if item == "y" else None for item in left],
        "overtime": draw.choices("yn", k=2_000),
        "hardly": [None] * 1_980 + ["x"] * 20,
        "shifted": [f"{2150 + place % 30}-03-{1 + place % 28:02} 12:30" for place in range(2_000)],
        "colour": draw.choices("rgb", k=2_000),
    }
    found = profile(pa.table(data))
    names = by_interest(found.columns, found.columns)
    assert names.index("gone") < min(names.index("shift"), names.index("room")), "there is a reason for some that are"
    assert names.index("price_gross") > names.index("price_net") + 1, "something else comes between what is alike"
    titled = by_interest(found.columns, found.columns, ("/data/overtimes_2024.csv", None))
    assert titled.index("overtime") < names.index("overtime")
    assert [item.name for item in found.columns if not tells_apart(item)] == ["hardly", "shifted"]


def test_dates_of_events_say_the_year_or_nothing() -> None:
    sizes = {
        "fields": ((0,),) * 5,
        "costs": (90, 80, 70, 60, 0),
        "widths": (900, 80, 20, 8, 1),
        "keeps_type": (True,) * 5,
    }
    attribute = Attribute("day", "DATE", 5, 900, **sizes)
    assert (floor_of(attribute, with_rest=False), floor_of(attribute, with_rest=False, coarsest=2)) == (3, 2)


def test_the_group_of_the_rare_is_no_value_that_is_left() -> None:
    sizes = {"fields": ((0,),) * 4, "costs": (60, 50, 40, 0), "widths": (6, 4, 3, 1), "keeps_type": (True,) * 4}
    attribute = Attribute("kind", "VARCHAR", 4, 6, **sizes)
    assert (floor_of(attribute, with_rest=False), floor_of(attribute, with_rest=True)) == (2, 1)


def test_persons_are_counted_by_who_orders_and_not_by_orders(tmp_path: Path) -> None:
    made = draft(profile(_orders()), folder=tmp_path)
    assert made.policy.entity == "customer_id"
    assert made.policy.suppression_limit == Decimal("0.24"), "those who lose one of five records, if a twentieth goes"


def test_age_comes_before_a_date_where_each_record_is_a_person() -> None:
    data = _orders().set_column(1, "patient_no", [[*range(3_000)]])
    columns = [item for item in profile(data).columns if item.role not in ("identifier", "drop")]
    names = by_interest(columns, profile(data).columns)
    assert names.index("birth_year") < names.index("delivery_date")
    assert by_interest(columns).index("delivery_date") < by_interest(columns).index("birth_year")


def test_rare_values_of_sensitive_columns_are_merged_and_near_constants_are_left_out() -> None:
    """No model keeps a value of two records from being seen."""
    draw = random.Random(12)
    data = {
        "age": [draw.randrange(18, 80) for _ in range(900)],
        "diagnosis": ["scurvy"] * 2 + draw.choices(["asthma", "diabetes", "migraine"], k=898),
        "hiv": ["yes"] * 2 + ["no"] * 898,
        "smoker": draw.choices("yn", k=900),
    }
    found = profile(pa.table(data))
    assert {found.column(name).role for name in ("diagnosis", "hiv", "smoker")} == {"sensitive"}
    searched = as_searched(found)
    roles = {name: searched.column(name).role for name in ("diagnosis", "hiv", "smoker")}
    assert roles == {"diagnosis": "quasi_identifier", "hiv": "drop", "smoker": "sensitive"}
    assert all(searched.column(name).otherwise == "sensitive" for name in ("diagnosis", "hiv"))


def test_a_time_and_how_it_ended_and_codes_and_their_kinds_go_together() -> None:
    draw = random.Random(21)
    data = {
        "age": [draw.randrange(18, 80) for _ in range(1_200)],
        "treatment": draw.choices(["placebo", "drug"], k=1_200),
        "futime": [draw.randrange(10, 400) for _ in range(1_200)],
        "cens": draw.choices([0, 1], k=1_200),
        "part": [draw.randrange(100, 250) for _ in range(1_200)],
    }
    data["part_type"] = [f"kind {code // 30}" for code in data["part"]]
    found = profile(pa.table(data))
    assert found.column("cens").role == "sensitive" and found.column("part").leader == "part_type"
    searched = as_searched(found)
    assert {searched.column(name).role for name in ("futime", "cens", "treatment")} == {"sensitive"}
    keys = searched.column("futime").keys or {}
    assert keys["level"] == 1 and len(keys["hierarchy"]["intervals"]["edges"][0]) >= 3 and keys["models"]
    assert searched.column("part").role == "drop" != searched.column("part_type").role


def test_a_logarithm_follows_what_it_is_of() -> None:
    draw = random.Random(22)
    wages = [draw.randrange(100, 300) for _ in range(1_500)]
    found = profile(pa.table({"lwage": [round(math.log(wage), 6) for wage in wages], "wage": wages}))
    assert found.column("lwage").leader == "wage"


def test_a_time_says_nothing_without_what_ended_it() -> None:
    draw = random.Random(6)
    days = {name: [draw.randrange(1, 3_000) for _ in range(600)] for name in ("size", "srv", "lenfol", "casenum")}
    data = days | {name: draw.choices([0, 1], k=600) for name in ("fstat", "srvstat", "meno", "site")}
    data["zip_code"] = draw.choices(range(10_115, 10_190), k=600)
    found = profile(pa.table({"age": [draw.randrange(30, 90) for _ in range(600)], **data}))
    scores = subject_scores(found.columns, found.columns)
    assert all(scores[name] > 0 for name in ("srv", "srvstat", "lenfol", "fstat"))
    assert scores["srv"] - scores["size"] == scores["fstat"] - scores["meno"] == OF_A_PAIR
    judged = as_searched(found)
    assert [judged.column(name).role for name in ("srv", "srvstat", "meno")] == ["sensitive"] * 3
    assert judged.column("meno").reason.endswith(FLAG), "nothing says that others know it"
    assert judged.column("zip_code").role == "quasi_identifier"
    number = judged.column("casenum")
    assert (number.role, number.reason) == ("drop", NUMBERS), "its values count nothing"


def test_ages_and_births_are_known_however_they_are_written() -> None:
    draw = random.Random(4)
    names = ("dob", "agemo", "stay", "ht_for_age")
    rows = {name: [draw.randrange(100, 900) for _ in range(600)] for name in names}
    found = profile(pa.table({**rows, "ageyr": [draw.randrange(11, 17) for _ in range(600)]}))
    assert [says_how_old(found.column(name)) for name in (*names, "ageyr")] == [True, True, False, False, True]
    judged = as_searched(found)
    assert {judged.column(name).role for name in ("dob", "agemo", "ageyr")} == {"quasi_identifier"}
    assert judged.column("stay").role == "sensitive"


def test_numbers_of_things_end_with_id_and_amounts_may() -> None:
    draw = random.Random(2)
    names = ("compid", "grpid", "amount_paid", "uric_acid")
    found = profile(pa.table({name: [draw.randrange(1, 90) for _ in range(600)] for name in names}))
    assert [is_a_number_of_things(found.column(name)) for name in names] == [True, True, False, False]


def test_no_protected_number_bounds_one_that_is_generalized() -> None:
    """A visit in a late band would narrow the time at which a person left, which stays the same of a person."""
    draw = random.Random(3)
    rows = []
    for person in range(400):
        end, sex = round(draw.uniform(1, 12), 1), draw.choice("mf")
        age, marker = draw.randrange(30, 80), draw.gauss(60, 12)
        for visit in sorted(round(draw.uniform(0, end), 3) for _ in range(5)):
            rows.append((person, sex, age, end, visit, round(marker + draw.gauss(0, 5), 2)))
    names = ("id", "sex", "age", "end_time", "visit_time", "prothrombin")
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    found = profile(table)
    assert found.column("visit_time").near.bounds == ("end_time",) and not found.column("prothrombin").near.bounds
    judged = as_searched(found, "id")
    assert {judged.column(name).role for name in ("end_time", "visit_time")} == {"quasi_identifier"}
    assert judged.column("prothrombin").role == "sensitive"
    alone = as_searched(profile(table.drop_columns(["end_time"])), "id")
    assert alone.column("visit_time").role == "sensitive"


def test_of_three_numbers_of_which_two_tell_the_third_one_is_left_out() -> None:
    """The age at a visit is that at the first one and the time between, but for a slip."""
    draw = random.Random(8)
    first = [draw.randrange(300, 900) for _ in range(800)]
    months = [draw.randrange(1, 60) for _ in first]
    age = [a + 2 * m for a, m in zip(first, months, strict=True)]
    data = {"sex": draw.choices("mf", k=800), "age": age, "first_age": first, "months": months}
    data |= {"score": [draw.randrange(400) for _ in first], "weight": [3 * m + draw.gauss(0, 12) for m in months]}
    for slip in (False, True):
        age[0] = age[0] + 9 * slip
        found = profile(pa.table(data))
        told = {item.name: {*item.near.told_by} for item in found.columns if item.near.told_by}
        assert told["age"] == {"first_age", "months"} and told.keys() == {"age", "first_age", "months"}
        judged = as_searched(found)
        gone = [item for item in judged.columns if item.name in told and item.policy_role == "drop"]
        assert len(gone) == 1 and "tell it, together" in gone[0].reason


def test_few_in_an_arm_are_known_and_a_rare_end_is_not() -> None:
    draw = random.Random(2)
    data = {name: draw.choices([0, 1], [9, 1], k=900) for name in ("treated", "died", "status")}
    data |= {"arm": draw.choices([0, 1], k=900), "age": [draw.randrange(30, 90) for _ in range(900)]}
    data["survival_days"] = [draw.randrange(1, 900) for _ in range(900)]
    judged = as_searched(profile(pa.table(data)))
    roles = {name: judged.column(name).role for name in data}
    assert roles["treated"] == "quasi_identifier" and roles["arm"] == roles["status"] == "sensitive"


def test_a_rare_outcome_says_more_than_a_rare_flag() -> None:
    draw = random.Random(3)
    data = {name: draw.choices([0, 1], [94, 6], k=900) for name in ("gift", "relapse")}
    data |= {f"{who}_education": draw.choices("abcd", k=900) for who in ("own", "mother", "father")}
    found = {item.name: item for item in profile(pa.table(data)).columns}
    order = ["own_education", "mother_education", "gift", "relapse", "father_education"]
    worths = worths_of(order, found, subject_scores([*found.values()]))
    assert worths["relapse"] > 3 * worths["gift"]
    assert worths["mother_education"] < 0.7 * worths["own_education"], "the like was said before"


def test_a_product_of_two_columns_and_ages_in_months_are_told() -> None:
    draw = random.Random(2)
    years = [draw.choice([0, 1]) for _ in range(600)]
    school = [draw.randrange(20) for _ in range(600)]
    made = [year * each for year, each in zip(years, school, strict=True)]
    months = [draw.randrange(200, 900) for _ in range(600)]
    judged = as_searched(profile(pa.table({"y82": years, "educ": school, "y82educ": made, "age": months})))
    assert judged.column("y82educ").role == "drop" and "'y82' and 'educ'" in judged.column("y82educ").reason
    assert judged.column("age").role == "quasi_identifier", "others know it, in whatever unit"
