"""Results that are shown as cards."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

DRAWN_BY = "sqlanon.report.cards"
"""What draws the cards. It knows all results, whose rooms stand below the reports; so it is loaded by its name, when a
card is shown, as the public names of the package are."""


class WithCard:
    """A result with a card: HTML in a notebook, text elsewhere. A dataclass needs ``repr=False`` to be shown so."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(_drawing().html_card(self))

    def __repr__(self) -> str:
        return str(_drawing().text_card(self))

    __str__ = __repr__


def _drawing() -> ModuleType:
    return import_module(DRAWN_BY)
