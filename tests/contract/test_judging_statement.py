"""The statement that judges nodes, whole: a golden file for people to read, which is also run."""

from pathlib import Path

import duckdb
from policies import document_of, sensitive
from sqlglot import exp
from tables import text_table

import sqlanon
from sqlanon.core.compiler.batch import literal_batch
from sqlanon.core.evaluate.evaluator import verdicts
from sqlanon.core.sqltrees import names

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "judging_statement.sql"
ROWS = [
    ("21", "80", "flu"),
    ("22", "80", "cold"),
    ("23", "81", "flu"),
    ("24", "81", "flu"),
    ("31", "80", "flu"),
    ("32", "80", "cold"),
    ("39", "90", "cough"),
]
POLICY = document_of(
    {"age": "redact", "zip": "redact", "illness": sensitive("entropy_l_diversity", l=2)},
    k=2,
    table="patients",
    quality={"measure": "loss"},
    suppression_limit=0.5,
)
NODES = [(1, 0), (1, 1), (2, 0)]


def legible(query: exp.Query) -> str:
    """Return the text of a statement, without quotation marks and with the first line of each file's comment."""
    query = query.copy()
    for node in query.walk():
        if node.comments:
            node.comments = node.comments[:1]
        if isinstance(node, exp.Identifier):
            node.set("quoted", False)
    return query.sql(dialect="duckdb", pretty=True) + "\n"


def test_the_statement_is_the_golden_file_and_answers(connection: duckdb.DuckDBPyConnection) -> None:
    text_table(connection, ["age", "zip", "illness"], ROWS, name="patients")
    with sqlanon.plan(connection, POLICY) as plan:
        question = plan._evaluator._question
        text = legible(literal_batch(question, NODES, names.BASE))
        assert text == GOLDEN.read_text(encoding="utf-8")
        found = verdicts(plan._problem, question, NODES, plan._session.judging.run("golden", text))
        assert [(v.classes, v.suppressed, v.smallest) for v in found] == [(2, 3, 2), (1, 5, 2), (1, 3, 4)]
        levels = [plan.catalog.levels(node) for node in NODES]
        own = plan.evaluate_many(levels)
        assert [(v.loss, v.feasible, v.lower_bounds) for v in found] == [
            (v.loss, v.feasible, v.lower_bounds) for v in own
        ]
