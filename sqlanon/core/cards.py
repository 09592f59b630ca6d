"""Results that are shown as cards."""

from __future__ import annotations

from sqlanon.core.doors import behind


class WithCard:
    """A result with a card: HTML in a notebook, text elsewhere. A dataclass needs ``repr=False`` to be shown so."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(behind("card").html_card(self))

    def __repr__(self) -> str:
        return str(behind("card").text_card(self))

    __str__ = __repr__
