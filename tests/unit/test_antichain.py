"""The four implementations of predictive properties answer and count as a brute force over what was inserted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon.core.lattice.nodes import leq
from sqlanon.core.search.antichain import OPTIONS, antichain

NAMES = [name for name, _ in OPTIONS]


@st.composite
def nodes(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Nodes of one lattice, so small that they are often comparable, and now and then the same."""
    tops = draw(st.lists(st.integers(0, 4), max_size=5))
    return draw(st.lists(st.tuples(*(st.integers(0, top) for top in tops)), max_size=40))


def inherits(direction: str, node: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return leq(other, node) if direction == "up" else leq(node, other)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("name", NAMES)
@given(nodes(), nodes())
def test_answers_and_counters_equal_brute_force(name: str, direction: str, inserted: list, asked: list) -> None:
    asked = [node for node in asked if not inserted or len(node) == len(inserted[0])]
    held, stored = antichain(direction, name), []
    largest = 0
    for node in inserted:
        new = not any(inherits(direction, node, other) for other in stored)
        assert (node in held) is not new
        assert held.insert(node) is new
        assert node in held
        stored.append(node)
        kept = {n for n in stored if not any(o != n and inherits(direction, n, o) for o in stored)}
        expected = len(stored) if name == "list" else len(kept)
        largest = max(largest, expected)
        assert len(held) == expected
    hits = 0
    for node in asked:
        covered = any(inherits(direction, node, other) for other in stored)
        assert held.covers(node) is covered
        hits += covered
    assert (held.inserts, held.queries, held.hits, held.largest) == (len(inserted), len(asked), hits, largest)


def test_an_empty_antichain_covers_nothing_not_even_the_node_without_attributes() -> None:
    for name in NAMES:
        held = antichain("down", name)
        assert () not in held and not held.covers((0,))
        assert held.insert(()) and () in held and not held.insert(())


def test_statistics_are_shares_of_queries_and_of_inserts() -> None:
    held = antichain("up")
    expected: dict[str, float] = {}
    held.report("quality", expected)
    assert set(expected.values()) == {0}
    for node in [(1, 1), (0, 2), (0, 1), (2, 0)]:
        held.insert(node)
    assert [held.covers(node) for node in [(0, 0), (3, 0), (0, 1), (1, 0)]] == [False, True, True, False]
    held.report("quality", expected)
    assert expected == {"quality_inserts": 4, "quality_queries": 4, "quality_hits": 0.5, "quality_antichain": 0.5}
