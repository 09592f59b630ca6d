"""Tables of a lakehouse that releases are added to, whatever their format: as a whole, or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import pyarrow as pa

from sqlanon.core.publish.lakes import LakeRelease, changed_meanwhile
from sqlanon.errors import SqlanonError, TargetError


class Appended(ABC):
    """A table that releases are added to; see ``core.publish.lakes.LakeTable``."""

    name: str

    def append(self, release: LakeRelease) -> None:
        added: list[str] = []
        try:
            self.add(release, added)
            return
        except (SqlanonError, KeyboardInterrupt):
            self.take_back(added)
            raise
        except Exception as error:  # of the package and of stores
            failure = type(error).__name__
        if not added:
            raise self.unwritable(failure)
        now = self.opened_again()
        if now.holds(added[-1]):
            return  # a store or a catalog answered with an error to what it had done
        self.take_back(added)
        raise changed_meanwhile(self.name) if now.version != self.version else self.unwritable(failure)

    @property
    @abstractmethod
    def version(self) -> int | str | None:
        """The version that tells its states apart; None where there is no table."""

    @abstractmethod
    def add(self, release: LakeRelease, added: list[str]) -> None:
        """Bring the files to the table, noting each in ``added`` before it is there, and commit them."""

    @abstractmethod
    def take_back(self, added: Sequence[str]) -> None:
        """Remove files that were not committed, as far as the store allows it; no reader sees them."""

    @abstractmethod
    def opened_again(self) -> Self:
        """Return the table as it is now."""

    @abstractmethod
    def holds(self, file: str) -> bool:
        """Return whether a file is in the table."""

    @abstractmethod
    def unwritable(self, failure: str) -> TargetError:
        """Return the error of a table that cannot be read or written."""


def refuse_types(schema: pa.Schema, format_name: str, *, narrow: bool) -> None:
    """Refuse columns of types that a table would change.

    Args:
        narrow: it has integers of 8 and 16 bits.

    Raises:
        TargetError: names them.
    """
    strange = [field.name for field in schema if not _is_kept(field.type, narrow=narrow)]
    if strange:
        raise TargetError(
            f"{format_name} does not hold the types of {', '.join(map(repr, strange))} as they are.",
            hint="cast these columns in a view of the source: to text, a signed number or a timestamp.",
        )


def _is_kept(kind: pa.DataType, *, narrow: bool) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in (None, "UTC"))
    if types.is_signed_integer(kind):
        return bool(narrow or kind.bit_width >= 32)
    numbers = types.is_float32(kind) or types.is_float64(kind) or types.is_decimal128(kind)
    others = types.is_boolean(kind) or types.is_string(kind) or types.is_binary(kind) or types.is_date32(kind)
    return bool(numbers or others)
