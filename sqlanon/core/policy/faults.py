"""Faults of a policy, collected one after the other so that all are raised together.

Messages name keys, columns and numbers, never values of a hierarchy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlanon.core.plain import is_unicode
from sqlanon.errors import Fault, PolicyError, attempt
from sqlanon.parameters import Parameter, ValueCheck, is_number, names_of, suggest


def named(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with texts as keys; YAML reads the key ``null`` as None."""
    return {"null" if name is None else str(name): item for name, item in value.items()}


FAULTS = {"whole": "This is not a whole number in the range.", "number": "This is not a number in the range."}
"""What is wrong with a value that a check of a kind refuses."""


class Faults:
    """A collector of faults of a ``subject``; checks go on after each of them."""

    def __init__(self, subject: str = "The policy") -> None:
        self.items: list[Fault] = []
        self._subject = subject

    def add(self, key: str, message: str, hint: str) -> None:
        """Note a fault."""
        self.items.append(Fault(key, message, hint))

    def mapping(self, key: str, value: Any, allowed: Sequence[str]) -> dict[str, Any]:
        """Return ``value`` as a mapping with known keys only; anything else is a fault and is left out."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.add(key, "This is not a mapping.", f"write key: value pairs with the keys {', '.join(allowed)}.")
            return {}
        pairs = named(value)
        for name in pairs:
            if name not in allowed:
                hint = suggest(name, allowed, "the keys are {}.")
                self.add(f"{key}.{name}" if key else name, "This key is not known.", hint)
        return {name: item for name, item in pairs.items() if name in allowed}

    def parameters(
        self, key: str, value: Any, known: Sequence[Parameter], *, owner: str, without: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return ``value`` as the parameters of ``owner``; those of ``without`` may be missing."""
        given = self.mapping(key, value, names_of(known))
        for parameter in known:
            name = parameter.name
            if name in given:
                hint = attempt(f"The check of {owner}'s {name}", partial(parameter.check, given[name]))
                if hint is not None:
                    self.add(f"{key}.{name}", f"{owner} cannot use this {name}.", hint)
            elif parameter.required and name not in without:
                self.add(f"{key}.{name}", f"{owner} needs {name}.", f"add {name}.")
        return given

    def value(self, key: str, value: Any, parameter: Parameter) -> bool:
        """Return True if ``value`` is what a key of a policy may be."""
        check = parameter.check
        if not isinstance(check, ValueCheck):
            return True
        before = len(self.items)
        if check.kind == "choice":
            self.choice(key, value, tuple(check.words))
        elif check.kind == "text":
            self.text(key, value)
        elif check.kind == "flag":
            if not isinstance(value, bool):
                self.add(key, "This is neither true nor false.", f"write {parameter.name}: true, or leave it out.")
        elif (hint := check(value)) is not None:
            self.add(key, check.fault or FAULTS.get(check.kind, "This is not what the key may be."), hint)
        elif check.kind in ("names", "names_or_name"):
            for number, name in enumerate(value):
                self.text(f"{key}[{number}]", name)
        return len(self.items) == before

    def choice(self, key: str, value: Any, known: Sequence[str]) -> None:
        """Note a fault unless ``value`` is one of ``known``."""
        if not isinstance(value, str) or value not in known:
            self.add(key, "This is not a known choice.", suggest(value, known))

    def integer(self, key: str, value: Any, least: int) -> bool:
        """Return True if ``value`` is a whole number of at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.add(key, "This is not a whole number in the range.", f"give a whole number of at least {least}.")
            return False
        return True

    def number(self, key: str, value: Any, least: float, most: float = math.inf) -> bool:
        """Return True if ``value`` is a finite number in [least, most]."""
        if not is_number(value) or not least <= value <= most:
            limits = f"of at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            self.add(key, "This is not a number in the range.", f"give a finite number {limits}.")
            return False
        return True

    def text(self, key: str, value: Any) -> bool:
        """Return True if ``value`` is a text that is not empty and can be a name."""
        if not isinstance(value, str) or not value or "\0" in value or not is_unicode(value):
            self.add(key, "This is not a text.", "give a text that is not empty.")
            return False
        return True

    def finish(self) -> None:
        """Raise one PolicyError with all faults, if there are any."""
        if self.items:
            raise PolicyError(self.items, subject=self._subject)
