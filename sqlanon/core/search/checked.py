"""A strategy from outside the package, kept to what it may do.

It asks for nodes of the lattice and chooses the next ones; it does not decide what is found or proven. Every verdict
that it is sent counts, whether it accounts for it or not, and the proof is built from the nodes that were judged.
"""

from __future__ import annotations

from sqlanon.core.lattice.nodes import leq
from sqlanon.core.search.base import Problem, Progress, Request, Search, Strategy, Verdict
from sqlanon.errors import InputError, attempt


def checked(name: str, strategy: Search) -> Search:
    """Return the strategy with its contract checked; ``name`` is its name in errors."""

    def search(problem: Problem, progress: Progress, *, gap: float = 0.0) -> Strategy:
        what = f"The strategy {name!r}"
        own = Progress(started=progress.started)
        generator = attempt(what, lambda: strategy(problem, own, gap=gap))
        verdicts: list[Verdict] | None = None
        while True:
            try:
                asked = attempt(what, lambda: generator.send(verdicts))  # type: ignore[arg-type]  # noqa: B023
            except StopIteration:
                break
            verdicts = yield _requests(what, problem, asked)
            for verdict in verdicts:
                own.see(verdict)
                progress.see(verdict)
            progress.statistics = own.statistics
        progress.statistics = own.statistics
        progress.finished = True

    return search


def _requests(what: str, problem: Problem, asked: object) -> list[Request]:
    """Return the nodes of the lattice, and floors below them, that a strategy asks for."""
    listed = list(asked) if isinstance(asked, list | tuple) else [None]
    requests = [request for request in listed if isinstance(request, Request)]
    if len(requests) < len(listed) or not requests:
        raise InputError(f"{what} does not yield requests.", hint="yield a list of at least one Request.")
    bottom = problem.catalog.bottom
    if not all(r.node in problem.lattice and len(r.floor) == len(bottom) and leq(r.floor, r.node) for r in requests):
        raise InputError(
            f"{what} asks for a node outside the lattice, or for a floor that is not below its node.",
            hint="a node is a tuple of one level a quasi-identifier, between lattice.bottom and lattice.top.",
        )
    return requests
