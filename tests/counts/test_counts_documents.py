"""Documents of counts that do not fit are refused, with what is wrong."""

from typing import Any

import pytest

import sqlanon
from sqlanon.counts.document import CountsPolicy

COUNTS = {"counts": {"by": {"dimensions": ["sex", "region"]}}, "table": "t"}
ROUNDED = COUNTS | {"entity": "person"}
NOISE = ROUNDED | {"key": {"env": "COUNTS_KEY"}, "method": "keys"}
SUM = {"counts": {"by": {"dimensions": ["sex"], "measures": [{"sum": "cost"}]}}}
AGES = {"hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}}


@pytest.mark.parametrize(
    ("base", "changes", "message"),
    [
        (COUNTS, {"threshold": 1}, "whole number"),
        (COUNTS, {"limit": 5}, "not known"),
        (COUNTS, {"privacy": [{"type": "k_anonymity", "k": 5}]}, "do not have this key"),
        (COUNTS, {"interval": [1, 9]}, "narrower"),
        (COUNTS, {"weights": {"zip": 3}}, "No table has this dimension"),
        (COUNTS, {"groups": ["cost"]}, "No table has the dimension"),
        (COUNTS, {"counts": {"by": {"dimensions": ["sex"], "margins": ["age"]}}}, "list of dimensions"),
        (COUNTS, {"counts": {"by": {"dimensions": ["sex"], "margins": [["sex"]]}}}, "list of dimensions"),
        (COUNTS, {"counts": {"by": {"dimensions": ["sex"], "measures": ["median"]}}}, "no measure"),
        (COUNTS, {"counts": {"by": {"dimensions": ["sex"], "margins": False, "measures": ["share"]}}}, "grand total"),
        (COUNTS, {"counts": {}}, "There are no tables"),
        (COUNTS, {"columns": {"age": AGES}}, "No table has this column"),
        (COUNTS, {"uncovered": "suppress"}, "missing from all totals"),
        (COUNTS, {"output": {"live_view": "v"}}, "not published so"),
        (COUNTS, {"form": "wide", "counts": {"a": {"dimensions": ["sex"]}, "b": {"dimensions": ["sex"]}}}, "wide form"),
        (ROUNDED, {"round": 1}, "whole number of at least 2"),
        (ROUNDED, {"round": 10**25, "additive": True}, "No count is as large"),
        (ROUNDED, {"round": 9, "suppress": False}, "round to 10 or more"),
        (ROUNDED, {"round": 5, "suppress": False, "additive": True}, "round to 6 or more"),
        (ROUNDED, {"round": 13, "suppress": False, "interval": [0, 7]}, "round to 14 or more"),
        (ROUNDED, {"round": 20, "suppress": False, "groups": ["sex"]}, "beside rounding without suppression"),
        (ROUNDED, {"round": 20, "suppress": False, "weights": "records"}, "beside rounding without suppression"),
        (ROUNDED, {"suppress": False}, "Nothing is rounded"),
        (ROUNDED, {"additive": True}, "Nothing is rounded"),
        (ROUNDED, {"round": 5, "keys": {"D": 4, "V": 2, "j": 1}}, "no meaning beside rounding"),
        (ROUNDED, {"round": 5, "rounding": "random"}, "made of a secret"),
        (ROUNDED, {"round": 5, "rounding": "random", "key": {"env": "K"}, "entity": None}, "none is named"),
        (ROUNDED, {"round": 5, "key": {"env": "K"}}, "Nothing is made by a key"),
        (ROUNDED, {"round": 20, "rounding": "random", "key": {"env": "K"}, "suppress": False}, "leaves 0 alone"),
        (ROUNDED, {"round": 20, "rounding": "random", "key": {"env": "K"}, "additive": True}, "not rounded at random"),
        (
            ROUNDED,
            {"round": 5, "counts": {"by": {"dimensions": ["sex"], "measures": [{"sum": "cost"}]}}},
            "not shown exactly",
        ),
        (ROUNDED, {"threshold": 10**30}, "as large as that"),
        (ROUNDED, {"interval": [0, 10**30]}, "as large as that"),
        (NOISE, {"entity": None}, "none is named"),
        (NOISE, {"key": None}, "made of a secret"),
        (NOISE, {"keys": {"D": 2, "V": 3, "j": 2}}, "a D above j"),
        (NOISE, {"keys": {"D": 5, "V": 1, "j": 2}}, "a V from 2 to 5"),
        (NOISE, {"keys": {"D": 5, "V": 6, "j": 4}}, "a larger D"),
        (NOISE, {"keys": {"D": 5, "V": 0, "j": 0}}, "above 0 and up to 5"),
        (NOISE, {"keys": {"D": 10**9, "V": 3, "j": 0}}, "at most 100"),
        (NOISE, {"keys": {"D": 5, "V": 3, "k": 2}}, "k"),
        (NOISE, {"groups": ["sex"]}, "no meaning where counts are changed by noise"),
        (NOISE, {"threshold": 7}, "no meaning where counts are changed by noise"),
        (NOISE, {"round": 10}, "no meaning where counts are changed by noise"),
        (NOISE, {"method": "suppress"}, "Nothing is made by a key"),
        (NOISE, {"counts": {"by": {"dimensions": ["sex"], "measures": [{"mean": "cost"}]}}}, "not shown exactly"),
    ],
)
def test_a_document_that_does_not_fit_is_refused(base: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sqlanon.PolicyError) as raised:
        CountsPolicy.from_dict({key: value for key, value in (base | changes).items() if value is not None})
    assert message in str(raised.value)


def test_without_tables_nothing_is_said_of_columns() -> None:
    with pytest.raises(sqlanon.PolicyError) as raised:
        CountsPolicy.from_dict(COUNTS | {"counts": {}})
    assert [fault.key for fault in raised.value.faults] == ["counts"]
