"""Inference: guess what a column beside the quasi-identifiers holds of a person whose quasi-identifiers are known.

The guess is the most frequent value of the classes that cover the person; of those, where the attacker knows the kept
columns too, of the rows that agree with them. The baseline guesses the most frequent value of the release for
everybody. Giomi et al. (PoPETs 2023) take the nearest record of the release: here that is a row of the class.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.assess.attack.facts import INFERENCE, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.guesses import Guessed, count_guesses, most_frequent
from sqlanon.assess.attack.world import AttackWorld


def by_class(world: AttackWorld) -> Iterator[Outcome]:
    """Yield how well each sensitive column is guessed from the classes; each kept one where none is sensitive."""
    attack = "class_inference"
    if not world.beside or not world.published:
        yield NotApplicable(attack, INFERENCE, "Nothing is published beside the quasi-identifiers.")
        return
    for secret in world.sensitive or world.kept:
        place = world.beside.index(secret)
        found = count_guesses(world, [(most_frequent([], [place]), [])], [place])
        yield described(world, attack, secret, found, "the quasi-identifiers")


def by_class_and_kept(world: AttackWorld) -> Iterator[Outcome]:
    """Yield how well sensitive columns are guessed where the kept columns are known as well."""
    attack = "class_and_kept_inference"
    if not world.kept or not world.sensitive or not world.published:
        yield NotApplicable(attack, INFERENCE, "No column is kept beside a sensitive one.")
        return
    known = [world.beside.index(name) for name in world.kept]
    for secret in world.sensitive:
        place = world.beside.index(secret)
        rounds = [(most_frequent(known, [place]), known), (most_frequent([], [place]), [])]
        found = count_guesses(world, rounds, [place])
        yield described(world, attack, secret, found, "the quasi-identifiers and the kept columns")


def described(
    world: AttackWorld, attack: str, secret: str, found: Guessed, known: str, naive: str = "what most people have"
) -> Finding:
    """Return the finding of an attack that guesses a column; ``naive``: what the baseline knows."""
    return Finding(
        attack=attack,
        risk=INFERENCE,
        columns=(secret,),
        attempts=found.attempts,
        successes=found.successes,
        baseline_successes=found.baseline,
        control=found.control,
        ranked=found.ranked,
        how=f"Guess {secret!r} of each record that a class covers from {known}; a success is the true value.",
        meaning=_meaning(secret, found, known, naive),
        figures={
            "not_covered": world.records - found.attempts,
            "certain": found.certain,
            "certain_right": found.certain_right,
        },
    )


def _meaning(secret: str, found: Guessed, known: str, naive: str) -> str:
    if not found.attempts:
        return "No class covers a record of the source."
    rate, baseline = found.successes / found.attempts, found.baseline / found.attempts
    said = (
        f"Anyone who knows {known} of a person guesses {secret!r} right in {rate:.1%} of the cases; anyone who knows "
        f"only {naive}, in {baseline:.1%}."
    )
    if found.successes <= found.baseline:
        said += " The attack adds nothing to that."
    if found.certain:
        said += (
            f" For {found.certain:,} records the release leaves one value possible; it is the true one for "
            f"{found.certain_right:,}."
        )
    return said
