"""Profile k: persons with the same profile, the multiset of their generalized rows, are at least k.

It is k-anonymity (Samarati and Sweeney, 1998) of persons, whose quasi-identifier is all of their rows: what a reader
sees of a person where the rows of a release are linked, by a pseudonym say. The persons with one profile are a class; a
class of fewer than k is suppressed, each person with all rows.

Monotone: persons whose rows are the same multiset at a node have the same one at every more general node, because each
row is generalized by itself. So a class at the more general node is a union of classes of the more specific one, and
the persons of a class with fewer than k are in classes with fewer than k at every more specific node; all of them are
suppressed, with all their records.

Beside it every other model is judged in the parts of such a class: the rows that its persons have in common, one by
one. A profile with a part that fails is suppressed whole. Whoever knows all generalized rows of a person then still
finds diverse sensitive values beside each of them. At a more specific node the records of a part are in parts of
profiles, each of which holds some of these records and no others. So where a model is monotone, or the part has fewer
records than the model lets pass, all of those parts fail too, and as each person of the profile has a record in one of
them, all persons of the profile are suppressed. Of any other failure nothing is certain.

**At most a rows are known** (``at_most``). Every sub-multiset of at most a generalized rows of a published person is
contained in the rows of at least k published persons, that person included: k^m-anonymity (Terrovitis, Mamoulis, Kalnis
2008) with the rows of a person as the items of a transaction, as multisets. The published persons are to be as many as
possible. Call a set of persons valid if it can be published so.

*The least suppression.* The union of valid sets is valid: every sub-multiset keeps the k persons that it has in a set
of its own. So there is a greatest valid set, which holds all others. It is reached by rounds that drop every person
with a sub-multiset which fewer than k of the remaining persons contain, until nobody is dropped: what is left is
valid then, and by induction nobody of a valid set is ever dropped, because the k persons of that set remain.

*Monotone.* Let y be a generalization of x, and P be valid at x. A sub-multiset of a person's rows at y is the image of
one of as many of their rows at x. At least k persons of P contain that, and the image of their rows contains its image,
counted as often. So P is valid at y, too, and the greatest valid set at y holds that of x: whoever is suppressed at y
is so at x, with all records (``min_suppressed`` = n), and a node that suppresses nothing has no generalization that
does.

All sizes from 1 to a are looked at, so that persons with fewer rows than a need no rule of their own. (Those of min(a,
rows of the person) would do: who contains a multiset contains its parts.) Nothing is promised against whoever knows
more rows of a person, or how many there are: theirs may be the only ones as a whole. Other models beside it are not
defined: they have no class of persons to be judged in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import Number, PrivacyModel, labelled
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.words import counted
from sqlanon.errors import UnsupportedError
from sqlanon.parameters import Parameter, option, shaped, whole

MOST_KNOWN = 3
"""Rows of a person that are known at most: the sub-multisets of more are too many to be looked at."""
MOST_SETS = 50_000_000
"""Sub-multisets of all persons at one node: so many take some 2 GB of a database."""


def _few(value: Any) -> str | None:
    """Check the number of rows that are known."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_KNOWN:
        return None
    return f"give a whole number from 1 to {MOST_KNOWN}, or leave it out: then all rows of a person are known."


@dataclass(frozen=True, slots=True)
class ProfileK(PrivacyModel):
    """See the docstring of the module.

    Attributes:
        k: persons that have the same rows at least.
        at_most: rows of a person that an attacker knows at most; None: all of them.
    """

    k: int
    at_most: int | None = None
    column: None = None
    type = "profile_k"
    watches = False
    parameters = (
        Parameter("k", whole(2), about="Persons that have the same rows, at least.", unit="persons", example="5"),
        option(
            "at_most",
            shaped(
                {"type": "integer", "minimum": 1, "maximum": MOST_KNOWN}, f"whole number from 1 to {MOST_KNOWN}", _few
            ),
            about="Of only so many rows of a person, whichever, is it promised that k persons have them.",
            unit="rows",
            example="2",
            default="all rows of a person",
        ),
    )
    monotone = True
    of_persons = True

    @property
    def of_release(self) -> bool:
        """Whether persons are judged together, in rounds: by their profiles they are not."""
        return self.at_most is not None

    @property
    def size(self) -> int:
        return self.k

    @property
    def words(self) -> str:
        return (
            f"profile k, persons by all of their records, with k = {self.k}"
            if self.at_most is None
            else f"profile k, persons by at most {counted(self.at_most, 'record')} of theirs, with k = {self.k}"
        )

    def sentence(self, who: str) -> str:
        right = f"the guess which of them is the person is right in 1 of {self.k:,} cases at most."
        if self.at_most is not None:
            return (
                f"Anyone who knows the quasi-identifiers of at most {counted(self.at_most, 'record')} of a person, and "
                f"nothing else, finds at least {self.k:,} persons with these among their records in the release, or "
                f"none (profile k, bounded): {right}"
            )
        return (
            f"Anyone who knows the quasi-identifiers of all records of a person, and nothing else, finds at least "
            f"{self.k:,} persons with the very same records in the release, or none (profile k), also where records "
            f"are linked: {right}"
        )

    @property
    def label(self) -> str:
        known = {} if self.at_most is None else {"at_most": self.at_most}
        return labelled(None, self.type, k=self.k, **known)

    def for_source(self, catalog: Catalog) -> ProfileK:
        """Return the model.

        Raises:
            UnsupportedError: the sub-multisets that may be known are too many.
        """
        if self.at_most is not None:
            sizes = range(1, self.at_most + 1)
            shares = catalog.shares_of_records
            sets = sum(persons * sum(comb(records, size) for size in sizes) for records, persons in shares)
            if sets > MOST_SETS:
                raise UnsupportedError(
                    f"{self.label} looks at every set of at most {self.at_most} records of a person, and there may "
                    f"be more than {MOST_SETS:,} of these.",
                    hint="lower at_most, leave it out (profile_k alone), or publish fewer records of each person.",
                )
        return self

    def audit_values(self, levels: int) -> Mapping[str, int]:
        return {"k": self.k}

    def obstacle(self, catalog: Catalog) -> str | None:
        if catalog.counted >= self.k:
            return None
        return f"{self.k} {catalog.unit} must have the same rows, but there are {catalog.counted}"

    def judge(self, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
        return classes.n < self.k, None
