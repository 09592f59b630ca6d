"""Holds records back at random, so that which node publishes a record excludes nothing about it.

In a first fit each record is published by the first node whose class, among the records that are left, is large enough.
Whoever knows the nodes could conclude, of a record that a node y publishes, that it is in no class that a more specific
node x publishes, and that its class at x was too small: values are excluded. Here every record draws where it begins,
independently of all others and of all values: at the first of J nodes with probability 1 - h, else at one of the
others, or at none. It takes part in its node and those after it.

**What holds.** Take a release R as given, and the nodes, their order, the least size of a class, the loss of the best
single node and the domains of the columns; all of it may be known. A *world* is a source table that could have R: as
many records, of which each published one generalizes to what its class shows at the rule of its class, and the
published sensitive values are those of the class.

1. *Any record, whatever is known of all others.* Let two worlds T and T' differ in the quasi-identifiers of one
   published record r. Then P(R | T') >= c * P(R | T) with c = 1 - h where the first node publishes r, and at least
   h / J elsewhere. Proof: take draws of the other records with which T gives R, and let r begin at its own node y,
   which it does with probability c. Before y, T' is T without r. In T the classes that held r before y were too small,
   since r was left; without r they are, too, and every other class is as it was: the same records are taken. At y,
   r is in its class by what the class shows, and after y it is gone in both. So T' gives the same assignment. The
   published classes hold the same sensitive values, so the same of them are suppressed.
2. *All records at once.* Every world in which each class of a rule is large enough has a positive probability: let
   each record begin at its own node, the suppressed ones at none. (They do begin at none with a positive probability
   wherever the policy lets any record be suppressed; otherwise there are none.)
   So nothing is certain about any set of records beyond what the classes show.
3. *Sensitive values.* Whether a node takes a class rests on its size alone, and where a record begins on nothing. Two
   worlds that differ by a permutation of sensitive values within the published classes have the same probability:
   every draw gives the same assignment, the same classes with the same values, the same ones suppressed. So the odds of
   any two ways to assign a class's values to its records stay what they were before the release.

A draw is accepted or drawn again by what it publishes alone: the limit on suppression, and the loss. The first of
``TRIES`` draws that is accepted is published; that changes odds by a factor of ``TRIES`` at most, and hardly at all
where the first is nearly always accepted. Where none is, and models judge sensitive values, a larger size of classes is
tried with draws of its own: by this, too, these values have a part in the size alone.

**What does not hold.** Draws are made from a seed, so all of this is as good as the seed is hard to guess. The nodes
and the least size are chosen from the data as a whole, like the one node of full domain (under models about sensitive
values, these have a part in the size, and in the nodes only by it). And many records together are not one: odds between
worlds that differ in d records change by (J / h)^d at most, times ``TRIES``. What is known otherwise, of prior odds,
counts as before: a value that was unlikely stays unlikely.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sqlanon.core.sqltrees import names
from sqlanon.recoding.compiler.first_fit import START

TRIES = 4
"""Draws of one sequence; the first within the limits of the policy is published."""
LIMIT_SHARE = Fraction(1, 8)
"""At most this share of what the policy lets be suppressed begins at no node."""
BLOCK = 1 << 20
"""Records whose draws are computed at once."""
WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Starts:
    """Where records begin, a function of the seed and of the row types in the order of their keys.

    Attributes:
        later: per node after the first, in order, and last for no node, the probability that a record begins there.
        seed: of the draws; whoever knows it can undo them.
        attempt: the number of the draw.
    """

    later: tuple[Fraction, ...]
    seed: int
    attempt: int = 0

    @classmethod
    def of(cls, hold: float, nodes: int, limit: Fraction, seed: int, attempt: int = 0) -> Starts:
        """Return how so many nodes share the records that are held back.

        Each later node, and none, begins as many; fewer none, where more of them than ``LIMIT_SHARE`` of the limit
        would be.

        Args:
            hold: the share of the records that is held back.
            nodes: at least 2.
            limit: the share of the records that may be suppressed.
        """
        whole = Fraction(str(hold))
        none = min(whole / nodes, limit * LIMIT_SHARE)
        return cls((*[(whole - none) / (nodes - 1)] * (nodes - 1), none), seed, attempt)

    @property
    def none(self) -> Fraction:
        """The probability that a record begins at no node."""
        return self.later[-1]

    @property
    def odds(self) -> float:
        """By how much the odds between two values of a record may change, at most (1 of the module)."""
        return float(max(1 / min(self.later[:-1]), 1 / (1 - sum(self.later))) * TRIES)

    def held(self, types: pa.Table, words: int) -> pa.Table:
        """Draw, and return the records that begin later: the key of their row type, ``start`` and ``n``.

        Args:
            types: the row types, with their keys and ``n``.
            words: of the keys.
        """
        keys = [types.column(names.key(w)).to_numpy().astype(np.int64) for w in range(words)]
        order = np.lexsort(keys[::-1])
        counts = types.column(names.COUNT).to_numpy().astype(np.int64)[order]
        rows, starts = self._drawn(counts)
        pairs, n = np.unique(rows * (len(self.later) + 1) + starts, return_counts=True)
        row, start = order[pairs // (len(self.later) + 1)], pairs % (len(self.later) + 1)
        columns = {names.key(w): pa.array(keys[w][row], pa.int64()) for w in range(words)}
        columns |= {START: pa.array(start, pa.int32()), names.COUNT: pa.array(n, pa.int64())}
        return pa.table(columns)

    def _drawn(self, counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the row type and the start of each record that begins later."""
        ends = np.cumsum(counts)
        records = int(ends[-1]) if len(ends) else 0
        edges, reached = [], Fraction(0)
        for share in self.later:
            reached += share
            edges.append(int(reached * WORD))
        bounds = np.array(edges, np.uint64)
        rows, starts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for first in range(0, records, BLOCK):
            drawn = self._words(first // BLOCK, min(BLOCK, records - first))
            held = np.flatnonzero(drawn < bounds[-1])
            rows.append(np.searchsorted(ends, held + first, side="right"))
            starts.append(np.searchsorted(bounds, drawn[held], side="right") + 1)
        return np.concatenate(rows), np.concatenate(starts)

    def _words(self, block: int, size: int) -> np.ndarray:
        """Return 64 bits for each record of a block: SHAKE-256 of the seed, the attempt and the block."""
        key = f"sqlanon hold {self.seed} {self.attempt} {block}".encode()
        return np.frombuffer(hashlib.shake_256(key).digest(8 * size), "<u8")
