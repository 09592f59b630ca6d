# hospital_rules/max_share.py
"""No value of the sensitive column has more than a share α of the records of a class.

Not monotone: a failing class may fall into a part that passes and one that is suppressed. But let v be the most
frequent value of a failing class, with r of its n records. In every part that is published, v has at most α times the
records of the part; so in all of them together R <= α (R + others), others <= n - r, and R <= α (n - r) / (1 - α). At
least r - R >= (r - α n) / (1 - α) records of v are suppressed. All n are when the class has fewer than 1 / α values,
because a part has no more values, and the most frequent of d values has at least 1 / d of the records.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from sqlanon.extending import Catalog, ClassArrays, Judgement, Parameter, exact, fraction, labelled, too_few_values

HERE = Path(__file__).parent


@dataclass(frozen=True)
class MaxShare:
    """See the module's docstring; the share is taken as the decimal fraction it was written as."""

    column: str
    share: float | Decimal
    type = "max_share"
    watches = True  # it stands under a sensitive column, and its constructor is given `column`
    parameters = (Parameter("share", exact(0, 1, above=True)),)
    file = str(HERE / "max_share.sql")
    audit_file = str(HERE / "max_share_audit.sql")
    live_file = str(HERE / "max_share_live.sql")
    references = ()  # what the audit reads beside the release
    monotone = False  # True: all records of a failing class are suppressed
    needs_rejection = False

    @property
    def size(self) -> int:
        """A share of at most α needs 1 / α values, so 1 / α records: no smaller class can pass."""
        numerator, denominator = fraction(self.share)
        return -(-denominator // numerator)

    @property
    def label(self) -> str:
        """For reports."""
        return labelled(self.column, self.type, share=self.share)

    def values(self, catalog: Catalog) -> Mapping[str, int]:
        """The placeholders of the file."""
        return self.audit_values(0)

    def audit_values(self, levels: int) -> Mapping[str, int]:
        """The placeholders of the audit."""
        numerator, denominator = fraction(self.share)
        return {"numerator": numerator, "denominator": denominator}

    def obstacle(self, catalog: Catalog) -> str | None:
        """Fewer values in the source than a class must hold."""
        return too_few_values(catalog, self.column, self.size)

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return f"no value with more than {self.share} of a class"

    def sentence(self, who: str) -> str:
        """What it promises of a release whose `records` or `persons` are counted."""
        return f"No value of {self.column} makes up more than {self.share} of the {who} of a class."

    def judge(self, classes: ClassArrays, values: Mapping[str, int]) -> Judgement:
        """The meaning over arrays: whether each class fails, and its `min_suppressed`."""
        import numpy as np

        numerator, denominator = values["numerator"], values["denominator"]
        n = classes.n.astype(object)  # whole numbers of any size, as in the file
        largest = np.maximum.reduceat(classes.counts, classes.starts).astype(object)
        over = largest * denominator - n * numerator
        least = (over + denominator - numerator - 1) // max(denominator - numerator, 1)
        few = classes.distinct_values.astype(object) * numerator < denominator
        return (over > 0).astype(bool), np.where(few, n, np.maximum(least, 0)).astype(np.int64)
