"""Write docs/comparison.md from the recorded results, so that each row of the page says when and how it came about.

python benchmarks/reproduce/page.py            writes the page
python benchmarks/reproduce/page.py --check    exits with 1 if it is not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recording import HERE, recorded

PAGE = HERE.parents[1] / "docs" / "comparison.md"
MADE = "<!-- made by benchmarks/reproduce/page.py from benchmarks/reproduce/results: run a table again to change it -->"
SPEED = {
    "search": "search",
    "loss": "proven loss",
    "nodes": "nodes",
    "nodes judged": "judged",
    "seconds of processor time": "seconds (processor)",
    "seconds": "seconds",
    "reference, seconds, busy": "reference, busy",
    "reference, seconds, quiet": "reference, quiet",
    "times faster, quiet": "times faster (quiet)",
}
RECODING = (
    "k",
    "local recoding, none held back",
    "local recoding",
    "one node, proven",
    "ARX (local recoding), run here",
    "Mondrian of ranges",
    "Top-Down Greedy",
    "basic Mondrian",
    "basic Mondrian, run here",
)
PERCENT = frozenset(RECODING[1:])


SECTIONS = (
    (
        "searches",
        "Searches for the proven optimum",
        """ADULT and CUP, k = 5 with at most 5 % of the records suppressed unless it is said. The reference is ARX, by
its published figures, on a machine with other work (busy) and without (quiet), of another day: the speed of such a
machine varies by half and more between hours. `benchmarks/search_speed.py` measures versions of sqlanon in pairs.""",
        SPEED,
    ),
    (
        "recoding",
        "Several generalizations in one table",
        """ADULT, 30,162 records, eight quasi-identifiers, the hierarchies that ARX publishes; the normalized certainty
penalty in percent, by one formula. Basic Mondrian comes out as it was published when it is run here. *One node* is one
generalization for all records, with the proof that no other loses less. *None held back*: nobody is protected from an
attacker who reasons about the order of the rules ([why](patterns.md#what-a-share-means)); ARX protects nobody from
that either. Its local recoding is its procedure, written again (`benchmarks/reproduce/rivals.py`): each round is
searched to its optimum. The figures of others are [theirs](SOURCE). *Mondrian of ranges* publishes ranges of
categories, in the order in which the file has them.""",
        {name: name for name in RECODING},
    ),
    ("wide", "Many columns", "No optimum is expected. The gap is how much lower the loss could be at most.", None),
    (
        "scale",
        "Many records",
        """Invented discharges, from a Parquet file to an audited release, with nine quasi-identifiers under a memory
limit. *Wide* records hardly ever repeat.""",
        None,
    ),
    (
        "attacks",
        "Risk and attacks",
        """ADULT with seven quasi-identifiers, `occupation` published as it is. Risks are those of published records; of
each kind of attack the one whose excess over a control group, which is not in the release, is largest
([definitions](attacks.md)).""",
        None,
    ),
)
"""Of each table its name, its title, what is said before it, and the titles of its columns; None: all as they are."""


def page() -> str:
    """Return the text of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ["# Beside others", "", MADE, ""]
    yield "Figures that anybody can run again: each table says its command, its date, the version and the commit. `DIR`"
    yield "is a folder of public datasets ([benchmarks/cases.py](../benchmarks/cases.py)). Each command checks its own"
    yield "answers, and records nothing where one is wrong."
    yield from ["", "## Where others are better", ""]
    yield from _worse(recorded("recoding")["rows"])
    slower = [row["search"] for row in recorded("searches")["rows"] if row.get("times faster, quiet", 1) < 1]
    if slower:
        yield f"- ARX is faster on a quiet machine at {'; '.join(slower)} ([table](#searches-for-the-proven-optimum))."
    yield "- ARX and sdcMicro have methods that sqlanon has not ([table](#features))."
    yield "- The lower bound for wide tables is weak: with 50 columns and more the proven gap is nearly the whole loss."
    for name, title, text, columns in SECTIONS:
        yield from ["", f"## {title}", "", text.replace("SOURCE", _source())]
        yield from _table(name, recorded(name)["rows"], columns)
    yield from ["", "## Features", ""]
    yield from _features(json.loads((HERE / "features.json").read_text()))


def _worse(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield where a published penalty of others is below ours."""
    rivals = ("Mondrian of ranges", "ARX (local recoding), run here", "Top-Down Greedy", "basic Mondrian")
    for rival in rivals:
        lower = [row["k"] for row in rows if row[rival] < row["local recoding"]]
        if lower:
            listed = ", ".join(map(str, lower))
            where = "([table](#several-generalizations-in-one-table))"
            name = rival.removesuffix(", run here")
            yield f"- {name} loses less than local recoding by its default on ADULT at k = {listed} {where}."


def _source() -> str:
    text = (HERE / "recoding.py").read_text()
    return text.split('SOURCE = "', 1)[1].split('"', 1)[0]


def _table(name: str, rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a table of recorded rows, and below it how it came about."""
    shown = titles or {key: key for row in rows for key in row}
    yield ""
    yield f"| {' | '.join(shown.values())} |"
    yield f"|{'---|' * len(shown)}"
    for row in rows:
        yield f"| {' | '.join(_cell(key, row.get(key)) for key in shown)} |"
    found = recorded(name)
    versions = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
    machine = found["machine"]
    yield ""
    yield f"`{found['command']}` on {found['date']}, commit {found['commit'][:8]}; {versions}; {machine['system']},"
    yield f"{machine['cores']} cores, {machine['memory_gib']} GiB."


def _cell(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if key in PERCENT:
        return f"{100 * value:.1f}"
    if abs(value) >= 1e15:
        return f"{value:.1e}"
    return f"{int(value) if value == int(value) and abs(value) > 1 else value:,}"


def _features(found: Mapping[str, Any]) -> Iterator[str]:
    tools = ["sqlanon", *found["sources"]]
    yield (
        f"As their documentation says on {found['date']}; — where it names none. "
        + "; ".join(
            f"[{tool}]({source})" if source.startswith("https:") else f"{tool}: {source}"
            for tool, source in found["sources"].items()
        )
        + "."
    )
    yield from ["", f"| | {' | '.join(tools)} |", f"|{'---|' * (len(tools) + 1)}"]
    for row in found["rows"]:
        yield f"| {row['feature']} | {' | '.join(row[tool] for tool in tools)} |"


def main() -> int:
    """Write the page, or compare it."""
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
