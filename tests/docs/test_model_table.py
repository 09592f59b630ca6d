"""The page about live views says of every model where it is judged, as the code does."""

from pathlib import Path

from model_table import FORMS, GENERIC_TESTS, model_table

from sqlanon.core.models import MODELS

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_models_is_what_the_code_refuses() -> None:
    text = (ROOT / "docs" / "live-views.md").read_text(encoding="utf-8")
    assert text.split("<!-- models -->\n")[1].split("<!-- end -->")[0] == model_table()


def test_the_table_has_every_model_and_tests_that_exist() -> None:
    assert {kind.type for kind in MODELS} == {name for name, _ in FORMS}  # type: ignore[attr-defined]
    written = {path.stem for path in (ROOT / "sql" / "dbt" / "macros" / "generic_tests").glob("*.sql")}
    assert {*GENERIC_TESTS.values(), "safe_counts"} == written  # the last one is of no model
