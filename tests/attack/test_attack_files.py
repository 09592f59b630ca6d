"""Files without a policy beside a source: what texts stand for, who is near, and what a copy gives away."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brute_attacks
import duckdb
import pyarrow as pa
import pytest
from command_line import sqlanon as command
from effort import Block, seeds
from tables import text_table

import sqlanon
from sqlanon.assess.attack.attacking import CONTROLLED, run_attacks
from sqlanon.assess.attack.files import KnownColumns, open_file_world
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import table

TOWNS = ["1301", "1302", "1399", "1401", "*", "a, b"]
Covers = Callable[[str | None], bool]


def written(rng: random.Random, age: int, town: str | None) -> tuple[str | None, str | None]:
    """Texts that stand for an age and a town, and for others."""
    low, high = rng.randint(age - 3, age), rng.randint(age + 1, age + 4)
    of_age = [
        str(age), f"{low}-{high}", f"[{low}, {high}[", f"({low - 1},{high}]", f">={low}", f"< {high}", f"{low}+", "*",
    ]  # fmt: skip
    of_town = [town, town, town if town is None else town[:2] + "**", f"{{{town}, 1302}}", "nowhere"]
    return rng.choice(of_age), rng.choice(of_town)


def stands_for(text: str | None, value: str | None, known: set[str | None]) -> bool:
    """What a text stands for, from how the test wrote it."""
    if text in known:
        return text == value
    if text is None or not text.strip("*"):
        return True
    if value is None:
        return False
    if text.endswith("**"):
        return value.startswith(text[:2])
    if text.startswith("{"):
        return value in text[1:-1].split(", ")
    if not value.isdigit() or text == "nowhere":
        return False
    number = int(value)
    if text[0] in "><" or text.endswith("+"):
        end = int(text.strip("<>=+ "))
        return number < end if text[0] == "<" else number >= end
    closed, low, high = text[0] != "(", *map(int, text.strip("[]()").replace("-", ",").split(","))
    return (number >= low if closed else number > low) and (number < high if text.endswith("[") else number <= high)


class FileAttacked(brute_attacks.Attacked):
    """A file of texts beside a source: rows fit by what their texts stand for, or else those that are nearest."""

    def known(self, i: int) -> list[str | None]:
        """The values of the source, and the numbers of the file, in order."""
        held = {record[0][i] for record in self.records}
        held |= {row[0][i] for row in self.rows if row[0][i] is not None and row[0][i].isdigit()}
        return sorted(held, key=lambda v: (v is None or not v.isdigit(), int(v) if v and v.isdigit() else 0, v or "~"))

    def covered(self, i: int, text: str | None) -> set[str | None]:
        known = self.known(i)
        return {value for value in known if stands_for(text, value, {*known})}

    def part(self, i: int, value: str | None, count: int) -> object:
        """What is equal to a value where numbers are divided into so many parts."""
        known = self.known(i)
        if value is None or not all(v is None or v.isdigit() for v in known):
            return value
        size, more = divmod(len(known), count)
        sizes = [size + (number < more) for number in range(count)]
        return [number for number, own in enumerate(sizes) for _ in range(own)][known.index(value)]

    def fits(self, texts: brute_attacks.Values, values: brute_attacks.Values) -> bool:
        return all(value in self.covered(i, text) for i, (text, value) in enumerate(zip(texts, values, strict=True)))

    def fitting(self, values: brute_attacks.Values) -> list[brute_attacks.Row]:
        found = super().fitting(values)
        for count in (20, 5):
            if not found:
                wanted = [self.part(i, value, count) for i, value in enumerate(values)]
                found = [
                    row
                    for row in self.rows
                    if all(
                        wanted[i] in {self.part(i, v, count) for v in self.covered(i, text)}
                        for i, text in enumerate(row[0])
                    )
                ]
        return found


@seeds(12, 6)
@pytest.mark.slow
def test_texts_stand_for_what_they_say(block: Block, tmp_path: Path) -> None:
    for seed in block:
        rng = random.Random(seed)
        towns = rng.sample(TOWNS, 3) + rng.choice([[], [None]])  # type: ignore[list-item]
        people = [(str(rng.randint(20, 29)), rng.choice(towns), rng.choice("xyz"), int(i % 3 == 0)) for i in range(40)]
        rows = [(*written(rng, int(age), town), secret) for age, town, secret, part in people if part == 0]
        with duckdb.connect() as connection:
            for name, which in (("source", 0), ("control", 1)):
                text_table(connection, ["age", "town", "secret"], [p[:3] for p in people if p[3] == which], name)
                connection.execute(f"COPY {name} TO '{tmp_path / name}.parquet'")
            text_table(connection, ["age", "town", "secret"], rows, "file")
            connection.execute(f"COPY file TO '{tmp_path}/file.parquet'")
        records = [((age, town), (secret,), part) for age, town, secret, part in people]
        world = FileAttacked(records, [(row[:2], row[2:]) for row in rows], [], [], 0)
        columns = KnownColumns(("age", "town"), ("secret",))
        paths = {"source": str(tmp_path / "source.parquet"), "control": str(tmp_path / "control.parquet")}
        with open_file_world(tmp_path / "file.parquet", columns, **paths, table_name=None, seed=1, watch=None) as (
            opened,
            warnings,
        ):
            found = {item.attack: item for item in run_attacks(opened, CONTROLLED) if isinstance(item, sqlanon.Finding)}
        strange = [sum(not world.covered(i, row[i]) for row in rows) for i in range(2)]
        assert [text.split(" rows ")[0] for text in warnings] == [f"In {count}" for count in strange if count]
        guesses, singled = found["class_inference"], found["singling_out_quasi_identifiers"]
        assert (guesses.attempts, guesses.successes) == world.inferred(0, (), 0)[:2]
        assert (guesses.control_attempts, guesses.control_successes) == world.inferred(0, (), 1)[:2]
        assert (singled.attempts, singled.successes) == world.singled_out((), 0)


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of age, income, town and illness, half of them held out, and records drawn anew."""
    folder, rng = tmp_path_factory.mktemp("files"), random.Random(5)
    people = [
        (str(rng.randint(20, 79)), str(rng.randint(1, 9999)), rng.choice("abcdef"), rng.choice("123456"))
        for _ in range(3000)
    ]
    anew = [tuple(rng.choice(people)[i] for i in range(4)) for _ in range(1500)]
    with duckdb.connect() as connection:
        for name, rows in (("in", people[:1500]), ("out", people[1500:]), ("anew", anew)):
            text_table(connection, ["age", "income", "town", "illness"], rows, name)
            numbers = "CAST(age AS INTEGER) AS age, CAST(income AS INTEGER) AS income"
            connection.execute(f"COPY (SELECT * REPLACE ({numbers}) FROM \"{name}\") TO '{folder / name}.csv'")
        others = "age || '.0' AS age, '0' || income AS income, illness || '.0' AS illness"
        connection.execute(f"COPY (SELECT * REPLACE ({others}) FROM \"in\") TO '{folder}/written otherwise.csv'")
    return folder


def attacked(folder: Path, name: str, *others: object) -> dict[str, Any]:
    """What the command finds in a file, by the name of the attack."""
    given = ["--source", folder / "in.csv", "--qi", "age,income,town", "--holdout", folder / "out.csv", "--json"]
    done = command("attack", folder / f"{name}.csv", *given, *others)
    assert done.returncode == 0, done.stderr
    return {item["attack"]: item for item in json.loads(done.stdout)["findings"]}


def test_records_that_are_drawn_anew_show_nothing_of_those_they_were_made_of(halves: Path) -> None:
    found = attacked(halves, "anew")
    for item in found.values():
        assert item["excess"] is None or item["excess_interval"][0] < 0.02, item
    guesses = found["class_inference"]
    assert guesses["columns"] == ["illness"] and guesses["attempts"] > 600, "nobody equals them; many are near"
    assert abs(guesses["loss_coefficient"]) < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in", "written otherwise"])
def test_a_copy_of_the_source_is_found_by_each_attack(halves: Path, name: str) -> None:
    found = attacked(halves, name, "--sensitive", "illness")
    for attack, least in {
        "singling_out_quasi_identifiers": 0.9, "predicate_singling_out": 0.9, "linkage_register": 0.9,
        "class_inference": 0.5, "definetti": 0.5, "membership_by_all_columns": 0.9,
    }.items():  # fmt: skip
        assert found[attack]["excess"] > least, found[attack]
    assert found["class_inference"]["loss_coefficient"] > 0.95 < found["membership_by_all_columns"]["loss_coefficient"]


@pytest.mark.slow
def test_a_control_group_of_the_same_people_and_one_of_nobody_are_no_control(halves: Path) -> None:
    qi = ("age", "income", "town")
    same = sqlanon.attack_file(halves / "in.csv", halves / "in.csv", qi, control=halves / "in.csv")
    assert [text.split(" records ")[0] for text in same.warnings] == ["1,500 of 1,500"]
    (halves / "nobody.csv").write_text("age,income,town,illness\n")
    nobody = sqlanon.attack_file(halves / "in.csv", halves / "in.csv", qi, control=halves / "nobody.csv")
    assert all(item.loss_coefficient is None for item in nobody.findings)


@pytest.mark.slow
def test_what_cannot_be_attacked_is_said_with_its_cure(halves: Path) -> None:
    source, qi = ("--source", halves / "in.csv"), ("--qi", "age,town")
    (halves / "broken.parquet").write_text("PAR1 canary")
    for given, said in (
        ((), "--source and --qi"),
        ((*source,), "--source and --qi"),
        ((*source, "--qi", "age,zebra"), "has no column 'zebra'"),
        ((*source, *qi, "--sensitive", "age"), "'age' cannot be known and guessed"),
        (("--policy", "p.yaml", *source), "The policy says what --source would say"),
        ((*source, *qi, "--holdout", halves / "none.csv"), "There is no file 'none.csv'"),
        ((*source, *qi, "--holdout", "0.3"), "no share to hold out"),
        ((*source, *qi, "--holdout", halves / "broken.parquet"), "'broken.parquet' cannot be read"),
        ((*source, *qi, "--also", "r.csv", "p.yaml"), "no --also"),
    ):
        done = command("attack", halves / "anew.csv", *given)
        assert done.returncode == 2 and said in done.stderr, (given, done.stderr)


STAND_FOR: list[tuple[list[str | None], str | None, list[str | None]]] = [
    (["9007199254740992", "1"], "9007199254740993", ["9007199254740993"]),
    (["20", "20.0", "020"], "20.00", ["20", "20.0", "020"]), (["1990-05-01"], ">=1900", [None]),
    (["1990-05-01", "1960-01-01"], "1990-05-01 00:00:00", ["1990-05-01"]),
    (["1", "2", "234"], "1,234", [None]), (["5", "6"], "5,7", [None]), (["5", "6"], "[5,7]", ["5", "6"]),
    (["20", "30"], " (20, 30] ", ["30"]), (["20", "25", "30"], "]20;30[ ", ["25"]), (["-5", "5"], "-10--1", ["-5"]),
    (["nan", "70", "inf"], "65+", ["70", "inf"]), (["NULL", None], None, [None]), (["NULL", "x"], None, ["NULL", "x"]),
    (["01234", "1234", "1"], "01***", ["01234"]), (["20"], "\uff12\uff10+", [None]),
    (["\uff12\uff10", "20"], "\uff12\uff10", ["\uff12\uff10"]), (["", "x"], "", [""]), (["true", "1"], "True", [None]),
    (["a", "b"], "{a, c}", ["a"]), (["20-39", "25"], "20-39", ["20-39"]),
]  # fmt: skip
"""Values of a source, a text of a file, and the values that it stands for; None alone where it is not understood."""


def test_each_text_stands_for_these_values() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE listed (attribute BIGINT, value VARCHAR, of_source BIGINT)")
        connection.execute("CREATE TABLE texts (attribute BIGINT, text VARCHAR)")
        for attribute, (values, text, _) in enumerate(STAND_FOR):
            listed = [(attribute, value, 1) for value in values] + [(attribute, text, 0)]
            connection.executemany("INSERT INTO listed VALUES (?, ?, ?)", listed)
            connection.execute("INSERT INTO texts VALUES (?, ?)", [attribute, text])
        known = bind("attack/known_values.sql", relations={"listed": table("listed")}, values={"many": 3, "few": 2})
        connection.execute(f"CREATE TABLE known AS {known.sql('duckdb')}")
        covered = bind("attack/covered_values.sql", relations={name: table(name) for name in ("texts", "known")})
        query = "SELECT c.attribute, k.value FROM covered c LEFT JOIN known k USING (attribute, v) ORDER BY ALL"
        rows = connection.execute(f"WITH covered AS ({covered.sql('duckdb')}) {query}").fetchall()
    for attribute, (values, text, expected) in enumerate(STAND_FOR):
        found = {value for of, value in rows if of == attribute}
        assert found == {*expected}, (values, text)


def test_files_of_other_types_are_compared_by_their_values(tmp_path: Path) -> None:
    made = {"in": ("i::DOUBLE", "i % 2"), "out": ("i + 30", "i % 2"), "file": ("i::VARCHAR", "i % 2 = 0")}
    for name, (ages, ill) in made.items():
        duckdb.sql(f"COPY (SELECT {ages} AS age, {ill} AS ill FROM range(60) t(i)) TO '{tmp_path / name}.parquet'")
    files = {name: tmp_path / f"{name}.parquet" for name in made}
    found = sqlanon.attack_file(files["file"], files["in"], ["age"], control=files["out"])
    singled = next(item for item in found.findings if item.attack == "singling_out_quasi_identifiers")
    assert (singled.successes, singled.control_successes) == (60, 30)
    assert ["No row has a value of 'ill'" in text for text in found.warnings] == [True]


def test_arguments_that_are_no_files_or_columns_are_refused_without_their_values(tmp_path: Path) -> None:
    duckdb.sql(f"COPY (SELECT 1 AS age, 2 AS sqlanon_part WHERE false) TO '{tmp_path / 'in.parquet'}'")
    file, canary = tmp_path / "in.parquet", pa.table({"age": ["canary"]})
    for given in (
        {"control": canary}, {"quasi_identifiers": "age"}, {"sensitive": "age"}, {"quasi_identifiers": [1]},
        {"source": (file, "a", "b")}, {"quasi_identifiers": None}, {"file": canary}, {"sensitive": ["sqlanon_part"]},
    ):  # fmt: skip
        with pytest.raises(sqlanon.SqlanonError) as caught:
            sqlanon.attack_file(**{"file": file, "source": file, "quasi_identifiers": ["age"], **given})
        assert caught.value.hint and "canary" not in str(caught.value), given
