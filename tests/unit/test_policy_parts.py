"""A key is a field: whoever adds one says everything about it there."""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any

import pytest

from sqlanon.core.policy.checks import PARTS
from sqlanon.core.policy.facts import PolicyFacts
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PATH, PolicyPart, check, entry, keys_of, part_of, read, written
from sqlanon.core.policy.transformation import LocalRecoding, Patterns
from sqlanon.parameters import ValueCheck, choice, flag, names, text, whole


@dataclass(frozen=True, slots=True)
class Place(PolicyPart):
    """A part whose text is its path."""

    alone = "path"

    path: str | None = entry(text(), about="Where it is.", example="a.csv", kept=PATH)


@dataclass(frozen=True, slots=True)
class Sample(PolicyPart):
    """A part with a key of each kind."""

    hold: bool = entry(flag(), False, about="Whether.", example="true")
    size: int | None = entry(whole(1), about="How many.", example="5")
    form: str = entry(choice("short", "long"), "short", about="Which.", example="long")
    of: tuple[str, ...] = entry(names("names", "No list.", "say [a].", or_name=True), (), about="Whom.", example="[a]")
    place: Place | None = entry(part_of(Place), about="Where.", example="{path: a.csv}")


@pytest.mark.parametrize(
    ("document", "keys", "portable"),
    [
        (None, {}, {}),
        ({"hold": False, "size": None, "of": None, "form": "short"}, {}, {}),
        ({"hold": True, "of": "a"}, {"hold": True, "of": ["a"]}, {"hold": True, "of": ["a"]}),
        ({"place": {"path": "x/a.csv"}}, {"place": {"path": "x/a.csv"}}, {"place": {"path": "a.csv"}}),
    ],
)
def test_a_part_is_read_and_written_by_its_fields(document: Any, keys: Any, portable: Any) -> None:
    faults = Faults()
    part = read(faults, "sample", document, Sample)
    check(faults, "sample", part)
    assert faults.items == []
    assert (written(part), written(part, portable=True)) == (keys, portable)
    assert read(faults, "sample", keys, Sample) == part


def test_all_its_faults_are_noted_each_with_a_cure() -> None:
    faults = Faults()
    wrong = {"hold": 1, "size": 0, "form": "shorts", "of": ["a", ""], "place": {"pth": 1}, "more": 2}
    check(faults, "sample", read(faults, "sample", wrong, Sample))
    assert [(fault.key, fault.hint) for fault in faults.items] == [
        ("sample.more", "the keys are hold, size, form, of, place."),
        ("sample.place.pth", "did you mean 'path'?"),
        ("sample.hold", "write hold: true, or leave it out."),
        ("sample.size", "give a whole number of at least 1."),
        ("sample.form", "did you mean 'short'?"),
        ("sample.of[1]", "give a text that is not empty."),
    ]


def test_a_text_stands_for_a_part_that_has_one_such_key() -> None:
    assert read(Faults(), "place", "a.csv", Place) == Place("a.csv")


def _parts() -> Iterator[type[PolicyPart]]:
    yield from (PolicyFacts, Patterns, LocalRecoding, *(known.part for known in PARTS.values()))


@pytest.mark.parametrize("kind", list(_parts()), ids=lambda kind: kind.__name__)
def test_every_part_is_described_and_can_be_built_without_what_may_be_left_out(kind: type[PolicyPart]) -> None:
    defaults = {kind.called.get(each.name, each.name): each for each in fields(kind)}  # type: ignore[arg-type]
    for key in keys_of(kind):
        each = defaults[key.name]
        assert key.about and key.example and isinstance(key.check, ValueCheck)
        assert key.required == (each.default is MISSING and each.default_factory is MISSING), key.name
    assert set(kind.order) <= {each.name for each in fields(kind)}  # type: ignore[arg-type]
