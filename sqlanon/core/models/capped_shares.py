"""How much can be published of a class if no sensitive value may have more than a certain share of what is published.

Models that cap the share q_v of every value v of a published class, q_v <= a_v, share this bound: δ-disclosure privacy
and β-likeness (in any form). It is the ``min_suppressed`` of their files in ``sql/model``, over arrays.

Let y be a class of n records, m_v of value v, that fails; at a more specific node it falls into parts that are
published or suppressed. U is the union of the published ones, u its records, u_v those of value v. Every published
part holds at most a_v times its records of v (a part that lacks v holds none), so summed over the parts u_v <= a_v u.
And u_v <= m_v. So for every set S of values of y

    u = sum of u_v <= (n - sum of m_v over S) + u (sum of a_v over S), hence
    u <= (n - m(S)) / (1 - a(S)) where a(S) < 1.

The least of these bounds is the greatest u with u <= h(u) = sum of min(m_v, a_v u): h is concave and h(0) = 0, and h(u)
is the least of the right sides above, with S the values whose m_v / a_v is above u. So the sets that begin the row of
the values by falling m_v / a_v suffice; but each set gives a sound bound, so that no rounding of that order can make it
wrong. Where all values together have a(S) < 1, nothing is published: u <= a(S) u.

From u <= w follows in whole numbers u_v <= floor(a_v w), and at least max(m_v - floor(a_v w), 0) records of each v are
suppressed: their sum is ``min_suppressed``. It is positive for a class in which a value is above its cap, because then
a_v n < m_v.

Where an entity may be in several parts of a class, let m_v be the entities of v in y, r the records of y, u_v the
entities of v summed over the published parts, u the sum of u_v, A the suppressed records, and A_v those of them with v.
What a part is judged by are its entities by value, so u_v <= a_v u still. Each entity of v has a record with v that is
published or not: u_v + A_v >= m_v. And an entity is counted in a part for one record at least: u + |A| <= r. So
m(S) <= a(S) u + |A| <= a(S) u + r - u, and u <= (r - m(S)) / (1 - a(S)): the same bound with n = r. And
|A| >= sum of max(m_v - floor(a_v w), 0) as before; everything is suppressed where all values together have a(S) < 1.
(``in_parts``.)

Caps are whole billionths, rounded up after a factor of 1 + 1e-11 that covers the tolerance of the models (1e-12) and
floating error; all that follows is exact in whole numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlanon.core.models.classes import ClassArrays

if TYPE_CHECKING:
    from sqlanon.core.models.classes import Real, Whole

ONE = 10**9
"""What caps are counted in: parts of so many."""
MOST = 2**62 // ONE
"""Classes of more records are counted in Python's own whole numbers."""


def min_suppressed(classes: ClassArrays, cap: Real) -> Whole:
    """Return per class at least how many records every more specific node suppresses.

    Args:
        cap: per part of a class, the largest share that its value may have in a published class.
    """
    import numpy as np

    starts, lengths, held = classes.starts, classes.distinct_values, classes.counts
    caps = np.ceil(np.minimum(cap * (1 + 1e-11), 1) * ONE).astype(np.int64)
    owner = np.repeat(np.arange(len(classes.n)), lengths)
    row = np.lexsort((-(held / caps), owner))
    n = classes.n if int(classes.n.max(initial=0)) < MOST else classes.n.astype(object)
    held, caps = held[row], caps[row]
    held_so_far, caps_so_far = _within(held, starts, lengths), _within(caps, starts, lengths)
    left = np.maximum(ONE - caps_so_far, 1)
    published = np.where(caps_so_far < ONE, (n[owner] - held_so_far) * ONE // left, n[owner])
    most = np.minimum.reduceat(published, starts)
    room = (caps * most[owner] // ONE).astype(np.int64)
    least = np.add.reduceat(np.maximum(held - room, 0), starts)
    found: Whole = np.where(np.add.reduceat(caps, starts) < ONE, classes.n, least)
    return found


def _within(amounts: Whole, starts: Whole, lengths: Whole) -> Whole:
    """Return the sums from the first part of each class to every one."""
    import numpy as np

    total: Whole = np.cumsum(amounts)
    return total - np.repeat(total[starts] - amounts[starts], lengths)
