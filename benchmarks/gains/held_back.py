"""How often whoever takes a local recoding for a first fit is right about its records.

    python benchmarks/gains/held_back.py --data DIR [--only adult cup] [--seeds 5] [--holds 0.05 0.1 …] [--nodes 16]

ADULT with nine quasi-identifiers and CUP with eight, k-anonymity with k = 5, at most 5 % suppressed, the loss. For each
seed nodes are chosen once, by default, and published with each share that chance holds back. The attack is the
package's own (``sqlanon.assess.attack.first_fit``), given the rule of every class. It claims of a
record that values are excluded (``narrowed``), that a column is finer than published, by the finest branch that is left
(``finer``), and what its original value is (``original``). A claim about a record is right when it is in each column
that it is about; the table that was published shows which are. ``expected`` is how often the same claims would be
right by the class and the distribution of each column alone. All figures count records (rows).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.assess.attack import first_fit
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import policy_of
from local_recoding import case_of

Bits = tuple[int, ...]
KINDS = ("narrowed", "finer", "original")


@dataclass(slots=True)
class Claims:
    """Records that a kind of claim is about, how many of the claims are right, and how many that class and column alone
    let expect."""

    records: int = 0
    right: int = 0
    expected: float = 0.0

    def __str__(self) -> str:
        if not self.records:
            return "none"
        return f"{self.records} ({self.right / self.records:.1%} right, {self.expected / self.records:.1%} expected)"


@dataclass(slots=True)
class Attacked:
    """A plan's records with the rules that publish them, and what is concluded of their classes.

    Attributes:
        records: per class, row types with their records.
        rules: per class.
        domain: per attribute, known values with the level from which on they are known.
    """

    plan: Any
    records: dict[int, list[tuple[Bits, int]]] = field(default_factory=lambda: defaultdict(list))
    rules: dict[int, Node] = field(default_factory=dict)
    domain: dict[int, list[tuple[int, Bits]]] = field(default_factory=lambda: defaultdict(list))
    counts: list[Counter[Bits]] = field(default_factory=list)

    def bits(self, key: Bits, attribute: int, level: int) -> Bits:
        own = self.plan.catalog.attributes[attribute]
        return tuple(word & own.mask(level, w) for w, word in enumerate(key))

    def run(self, query: str) -> list[Any]:
        return list(self.plan.engine.run("held back", query))


def attacked(plan: Any) -> Attacked:
    """Let the attack conclude, and read what it does and what the records are."""
    found, catalog, engine = Attacked(plan), plan.catalog, plan.engine
    nodes = [rule.node for rule in plan.rules]
    places = {rule.number: place for place, rule in enumerate(plan.rules)}
    keys = ", ".join(f'"{names.key(w)}"' for w in range(catalog.words))
    classes: dict[tuple[int, Bits], int] = {}
    sizes: Counter[int] = Counter()
    found.counts = [Counter() for _ in catalog.attributes]
    for rule, n, *key in found.run(f'SELECT "{names.RULE}", "{names.COUNT}", {keys} FROM "{names.ASSIGNED}"'):
        for i, counts in enumerate(found.counts):
            counts[found.bits(tuple(key), i, 0)] += n
        if rule is None:
            continue
        masks = catalog.masks(nodes[places[rule]])
        at = tuple(word & mask for word, mask in zip(key, masks, strict=True))
        number = classes.setdefault((places[rule], at), len(classes))
        sizes[number] += n
        found.records[number].append((tuple(key), n))
        found.rules[number] = nodes[places[rule]]
    columns: dict[str, list[int]] = {"class": [*classes.values()], "rule": [place for place, _ in classes]}
    columns |= {names.key(w): [key[w] for _, key in classes] for w in range(catalog.words)}
    first_fit._load(engine, first_fit.CLASSES, {**columns, names.COUNT: [sizes[c] for c in classes.values()]})
    first_fit.load_rules(engine, catalog, nodes)
    found_by_attack = first_fit.conclude(engine, catalog, nodes)
    for i, floor, *key in found.run(f'SELECT attribute, floor, {keys} FROM "{first_fit.DOMAIN}"'):
        found.domain[i].append((floor, tuple(key)))
    counted = claims_of(found)
    assert [counted[kind].records for kind in KINDS] == [getattr(found_by_attack, kind) for kind in KINDS]
    return found


def claims_of(found: Attacked) -> dict[str, Claims]:
    """Return what is claimed, and how much of it is right."""
    keys = ", ".join(f'"{names.key(w)}"' for w in range(found.plan.catalog.words))
    excluded: dict[int, dict[int, list[tuple[int, Bits]]]] = defaultdict(lambda: defaultdict(list))
    for number, i, level, *key in found.run(f'SELECT class, attribute, level, {keys} FROM "{first_fit.EXCLUDED}"'):
        excluded[number][i].append((level, tuple(key)))
    claims = {kind: Claims() for kind in KINDS}
    for number, by_attribute in excluded.items():
        told: dict[str, list[tuple[int, int, set[Bits]]]] = {kind: [] for kind in KINDS}
        for i, branches in by_attribute.items():
            for kind, level, left in concluded(found, number, i, branches):
                told[kind].append((i, level, left))
        for kind, parts in told.items():
            if parts:
                count(found, number, parts, claims[kind])
    return claims


def concluded(
    found: Attacked, number: int, i: int, branches: list[tuple[int, Bits]]
) -> Iterator[tuple[str, int, set[Bits]]]:
    """Yield the claims about a column of a class: the kind, a level, and the branches of it that are left."""
    above = found.rules[number][i]
    shown = found.bits(found.records[number][0][0], i, above)
    inside = [(floor, key) for floor, key in found.domain[i] if floor <= above and found.bits(key, i, above) == shown]
    left = [
        (floor, key)
        for floor, key in inside
        if not any(floor <= level and found.bits(key, i, level) == out for level, out in branches)
    ]
    yield "narrowed", 0, {found.bits(key, i, 0) for floor, key in left if not floor}
    for level in range(above):
        at = {found.bits(key, i, level) for _, key in left}
        whole = {found.bits(key, i, level) for _, key in inside}
        known = all(floor <= level for floor, _ in left)
        if len(at) == 1 and known and (len(whole) > 1 or any(floor > level for floor, _ in inside)):
            yield "finer", level, at
            if not level:
                yield "original", 0, at
            return


def count(found: Attacked, number: int, parts: list[tuple[int, int, set[Bits]]], claims: Claims) -> None:
    """Add the claims about the records of a class."""
    expected = 1.0
    for i, level, left in parts:
        above = found.rules[number][i]
        shown = found.bits(found.records[number][0][0], i, above)
        inside = {bits: n for bits, n in found.counts[i].items() if found.bits(bits, i, above) == shown}
        expected *= sum(n for bits, n in inside.items() if found.bits(bits, i, level) in left) / sum(inside.values())
    for key, n in found.records[number]:
        claims.records += n
        claims.expected += n * expected
        claims.right += n * all(found.bits(key, i, level) in left for i, level, left in parts)


def measure(data: Path, name: str, most: int, seed: int, holds: Sequence[float]) -> Iterator[tuple[float, Any]]:
    """Print what is claimed of a dataset with one seed, and yield it by the share that is held back."""
    policy = policy_of(data, case_of(name, 5))
    chosen = sqlanon.LocalRecoding(nodes=most, seed=seed)
    with sqlanon.recode(None, replace(policy, transformation=chosen)) as plan:
        nodes = tuple(plan.catalog.levels(rule.node) for rule in plan.rules)
    for hold in holds:
        given = sqlanon.LocalRecoding(nodes=nodes, hold=hold, seed=seed if hold else None)
        with sqlanon.recode(None, replace(policy, transformation=given)) as plan:
            claims = claims_of(attacked(plan))
            told = "; ".join(f"{kind} {claims[kind]}" for kind in KINDS)
            print(f"{name}, seed {seed}, hold {hold:g}, loss {plan.certificate.loss:.4f}: {told}", flush=True)
            yield hold, (plan.certificate.loss, claims)


def between(shares: Sequence[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=("adult", "cup"), default=["adult", "cup"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--holds", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.5])
    parser.add_argument("--nodes", type=int, default=16)
    options = parser.parse_args(arguments)
    for name in options.only:
        found = defaultdict(list)
        for seed in range(1, options.seeds + 1):
            for hold, result in measure(options.data, name, options.nodes, seed, options.holds):
                found[hold].append(result)
        for hold, results in found.items():
            for kind in KINDS:
                some = [claims[kind] for _, claims in results if claims[kind].records]
                right = between([own.right / own.records for own in some])
                expected = between([own.expected / own.records for own in some])
                counts = [claims[kind].records for _, claims in results]
                told = f"{min(counts)} to {max(counts)} claims, {right} right, {expected} expected"
                print(f"{name}, hold {hold:g}, {options.seeds} seeds: {kind}: {told}")


if __name__ == "__main__":
    main()
