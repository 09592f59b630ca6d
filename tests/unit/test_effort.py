"""Which cases are looked at below full effort."""

import itertools

from effort import each_value, spread


def test_each_value_occurs_and_few_cases_do() -> None:
    cases = [{*values} for values in itertools.product([("a", i) for i in range(7)], [("b", i) for i in range(3)])]
    chosen = [cases[place] for place in each_value(cases)]
    assert len(chosen) == 7 and set().union(*chosen) == set().union(*cases)
    assert each_value(cases, seen=[{("a", 0), ("a", 1), ("b", 0)}]).isdisjoint({0, 1, 2, 3, 4, 5})
    assert each_value([{1}, {2}, {3}]) == {0, 1, 2} and each_value([{1}], seen=[{1}]) == set()


def test_the_cases_that_stand_for_others_are_spread_from_the_first_to_the_last() -> None:
    assert spread(range(9), 3) == [0, 4, 8] and spread(range(9), 1) == [0] and spread(range(2), 5) == range(2)
    assert [*spread([5, 6])] == [5, 6]
