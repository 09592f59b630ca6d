"""Columns made of buffers equal those that pyarrow makes."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from sqlanon.core.engines import columns
from sqlanon.core.engines.columns import numpy_column, text_column, whole_column

TEXTS = ["", "a", None, "ö", "\U0001f600", "a\x00b", None, "x" * 300]


def test_texts_are_those_of_pyarrow() -> None:
    for size in range(len(TEXTS) + 1):
        for texts in (TEXTS[:size], TEXTS[size:], tuple(TEXTS[:size] * 3)):
            made = text_column(texts)
            made.validate(full=True)
            assert made.equals(pa.array(texts, pa.string())) and made.type == pa.string()


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(pa.ArrowTypeError):
        text_column(["a", 1])  # type: ignore[list-item]
    with pytest.raises(UnicodeEncodeError):
        text_column(["\ud800"])


def test_texts_beyond_32_bits_are_left_to_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LONGEST", 3)
    assert text_column(["ab", "cd"]).equals(pa.array(["ab", "cd"]))


def test_whole_numbers_are_those_of_pyarrow() -> None:
    for numbers in (range(0), range(7), [-(2**63), 2**63 - 1, 0]):
        made = whole_column(numbers)
        made.validate(full=True)
        assert made.equals(pa.array(numbers, pa.int64()))
    with pytest.raises(OverflowError):
        whole_column([2**63])


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string()],
    ids=str,
)
def test_arrays_are_those_of_pyarrow(kind: pa.DataType) -> None:
    plain = pa.array(
        [str(i) if kind == pa.string() else i % 2 == 0 if kind == pa.bool_() else i for i in range(40)], kind
    )
    holes = pa.array([None if i % 3 == 0 else value for i, value in enumerate(plain.to_pylist())], kind)
    chunks = [plain[:0], plain, holes, plain[3:17], holes[5:6], holes[9:31], pa.nulls(2, kind)]
    for count in range(4):
        for some in combinations(chunks, count):
            column = pa.chunked_array([*some], kind)
            expected, made = column.to_numpy(), numpy_column(column)
            assert made.dtype == expected.dtype, some
            np.testing.assert_array_equal(made, expected)


def test_an_array_is_its_own() -> None:
    data = whole_column(range(3))
    numpy_column(pa.chunked_array([data]))[0] = 7
    assert data.to_pylist() == [0, 1, 2]
