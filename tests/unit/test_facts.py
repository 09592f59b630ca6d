"""Results are JSON documents by their fields."""

from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import sqlanon
from sqlanon.core.facts import Facts, _parsed, pick, plain


@dataclass(frozen=True, slots=True)
class _Place(Facts):
    KEYS = "place=name share? *more"
    DIGITS = 2
    name: str
    share: float | None = None
    more: Any = None


def test_keys_are_renamed_left_out_spread_and_rounded() -> None:
    assert _Place("a", more={"b": (1, Path("c"))}).to_dict() == {"place": "a", "b": [1, "c"]}
    inner = _Place("in", 0.126, {})
    assert plain({1: inner}) == {"1": {"place": "in", "share": 0.13}}
    assert pick(_Place("out", more=inner), "inner=more.name gone=share.more") == {"inner": "in", "gone": None}


def test_every_key_of_a_result_is_a_fact_of_it() -> None:
    for module in walk_packages(sqlanon.__path__, "sqlanon."):
        with suppress(ModuleNotFoundError):  # the driver of an engine that is not installed
            import_module(module.name)
    assert len(Facts.__subclasses__()) > 40
    for kind in Facts.__subclasses__():
        known = {item.name for item in fields(kind)} | set(dir(kind))  # type: ignore[arg-type]
        assert {path[0] for _, path, _ in _parsed(kind.KEYS)} <= known, kind
