"""Files of ``sql/`` that name others of their folder: what they are composed of, and what they may not name."""

import importlib.util
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from sqlanon.core import sqltrees
from sqlanon.core.sqltrees import files
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import UnsupportedError

SQL = Path(__file__).parents[2] / "sql"
BOUND = [path for path in sorted(SQL.glob("*/*.sql")) if path.parent.name not in ("load", "macros", "stop")]


@pytest.mark.parametrize("path", BOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_names_files_of_its_own_folder_alone(path: Path) -> None:
    """An audit that read a file of ``sql/model`` would repeat the mistakes that it looks for."""
    for place in sqlglot.parse_one(path.read_text(), dialect="duckdb").find_all(exp.Table):
        assert not place.db or (place.db == path.parent.name and path.with_name(f"{place.name}.sql").exists())
    composed = files.parse(f"{path.parent.name}/{path.name}")
    assert not [place.sql() for place in composed.find_all(exp.Table) if place.db]


def test_named_files_are_bound_as_a_part() -> None:
    relations = {"release": exp.to_table("patients")}
    query = bind("audit/sizes_of_classes.sql", relations=relations, columns={"quasi_identifier": ["age"]})
    assert query.sql(comments=False) == (
        'SELECT sqlanon_records, COUNT(*) AS classes FROM (SELECT "age", COUNT(*) AS sqlanon_records FROM patients AS '
        '"release" GROUP BY "age" HAVING COUNT(*) > 0) AS counted GROUP BY sqlanon_records'
    )


def test_what_a_file_declares_stands_in_the_files_that_it_names() -> None:
    for model in ("beta_likeness", "delta_disclosure"):
        query = files.parse(f"model/{model}.sql")
        assert not query.find(exp.With)
        assert {place.name for place in query.find_all(exp.Table)} == {"histogram", "classes", "overall"}


def test_the_text_of_a_file_has_its_parts() -> None:
    """The facts of a live view hold the SHA-256 of each model, which changes with the files that its own names."""
    text = files.text_with_parts("model/beta_likeness.sql")
    assert text == files.read("model/beta_likeness.sql") + files.read("model/capped_shares.sql")
    assert files.text_with_parts("model/k_anonymity.sql") == files.read("model/k_anonymity.sql")


def test_a_compiled_sqlglot_is_refused_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlglot.generator, "__file__", "site-packages/sqlglot/generator.cpython-311.so")
    spec = importlib.util.spec_from_file_location(sqltrees.__name__, sqltrees.__file__)
    assert spec is not None and spec.loader is not None
    with pytest.raises(UnsupportedError, match="pip uninstall sqlglotc"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
