"""Tables 1 to 4 and 6 to 8 of the paper on Pattern-Guided k-Anonymity (2013) beside ours.

    python benchmarks/patterns/pattern_tables.py --data DIR                        # all 182 answers, ten minutes
    python benchmarks/patterns/pattern_tables.py --data DIR --table 4 7 --k 2 5 10
    python benchmarks/patterns/pattern_tables.py --data DIR --method greedy mondrian --json cells.json

Prints one line a table, k and method. A figure stands alone when it is the paper's to its last digit; otherwise ours is
followed by the paper's in parentheses, ``!`` when ours was said to be the same, ``~`` when it was not, ``*`` where the
paper is mistaken (``pattern_figures.CORRECTED``):

- the greedy heuristic is the same in every figure, given the order of the patterns: fewest ☆ first, then descending
  lexicographic order of the suppressed positions, in the order of the columns of the file. Table 7 comes out with the
  ties ``colexicographic``, Table 8 with another order of the columns (``pattern_figures``): there the paper's program
  read a list of patterns that the paper does not print, and it does not state its tie rule;
- the exact solver has the same number of suppressions, equal to its bound. Optimal solutions are not unique: the other
  figures are those of another one (``~``). Where the time limit ends the run, the proven bound and the solution have to
  enclose the optimum;
- Mondrian is the same for NURSERY and CMC. For ADULT and ADULT2 (``~``) its medians depend on the order in which the
  values of a category first appear, and the order of the paper's file is not known to us; whether that is all of the
  difference is open. It gets the records without unknown values, as in the paper, where the average sizes tell so.

The orders of columns and the numerical columns in ``pattern_figures`` were found by trying what reproduces the tables
(docs/pattern-tables.md).

Seconds (``r``) are information: here and, in parentheses, in the paper.

Every answer is decoded and judged anew, in numpy, by the records themselves: no record is lost, each row type of the
output holds k (the fully suppressed excepted), each row keeps what one of the patterns keeps, an optimum is no more
than the heuristic. Exit 1 when a cell is wrong or an answer faulty.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pattern_answers import Answer, Answers
from pattern_figures import CORRECTED, TABLES, PaperTable, Printed

WIDTHS = {"s": 19, "u": 15, "r": 17, "#h": 17, "h_avg": 19, "h_max": 17}
METHODS = ("greedy", "exact", "mondrian")
SAME_ORDER = ("nursery", "cmc")
"""Datasets whose values first appear in the order of the paper's file: NURSERY is generated, CMC is the file."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of the paper beside ours.

    Attributes:
        paper: as it is printed.
        claimed: ours is said to be the same.
        corrected: what it has to be where the paper is mistaken, otherwise ``paper``.
    """

    table: str
    k: int
    method: str
    figure: str
    paper: str
    ours: float
    claimed: bool
    corrected: str

    @property
    def same(self) -> bool:
        """Ours is the paper's, or the corrected one, to its last digit."""
        return Printed(self.corrected).agrees(self.ours)

    @property
    def wrong(self) -> bool:
        """Further off than claimed."""
        return self.claimed and not self.same

    def __str__(self) -> str:
        digits = len(self.paper.partition(".")[2])
        if self.figure == "r":
            return f"{self.ours:.3f} ({self.paper})"
        if self.same and self.corrected == self.paper:
            return f"{float(self.paper):,.{digits}f}"
        mark = "!" if self.wrong else "*" if self.same else "~"
        return f"{self.ours:,.{digits}f} ({float(self.paper):,.{digits}f}){mark}"


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of one k and method, and the faults of the answer."""

    table: str
    k: int
    method: str
    cells: tuple[Cell, ...]
    faults: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """A cell is wrong, or the answer."""
        return bool(self.faults) or any(cell.wrong for cell in self.cells)

    def __str__(self) -> str:
        figures = "".join(f"{cell!s:>{WIDTHS[cell.figure]}}" for cell in self.cells)
        return f"{self.k:>4} {self.method:9}{figures}  {'; '.join(self.faults)}".rstrip()


def claimed(table: PaperTable, method: str, figure: str, answer: Answer) -> bool:
    """Whether our figure is said to be the paper's."""
    if figure == "r":
        return False
    if method == "exact":
        return figure == "s" and answer.bound == answer.figures["s"]
    return method == "greedy" or table.dataset in SAME_ORDER


def line(table: PaperTable, k: int, method: str, answers: Answers) -> Line:
    """A line of a table: our answer beside the paper's figures."""
    answer = answers.answer(table, method, k)
    cells = []
    for figure, paper in table.rows()[k, method].items():
        right = CORRECTED.get((table.number, k, method, figure), paper).text
        same = claimed(table, method, figure, answer)
        cells.append(Cell(table.number, k, method, figure, paper.text, answer.figures[figure], same, right))
    faults = list(answer.faults)
    if answer.bound is not None:
        ours, optimum = answer.figures["s"], float(cells[0].corrected)
        if not answer.bound <= optimum <= ours:
            faults.append(f"{answer.bound:,.0f} to {ours:,.0f} does not enclose the optimum")
        if ours > answers.answer(table, "greedy", k).figures["s"]:
            faults.append("worse than the heuristic")
    return Line(table.number, k, method, tuple(cells), tuple(faults))


TITLES = {"all": "all patterns", "at most two": "at most two ☆, or ☆ alone", "scenario": "the scenario of section 3.6"}


def lines(
    answers: Answers, numbers: Sequence[str], ks: Sequence[int], methods: Sequence[str]
) -> Iterator[tuple[PaperTable, Line]]:
    """The lines that were asked for, with their tables."""
    for table in TABLES:
        if table.number not in numbers:
            continue
        for k, method in table.rows():
            if k in ks and method in methods:
                yield table, line(table, k, method, answers)


def report(found: Iterator[tuple[PaperTable, Line]], path: Path | None) -> int:
    """Print lines as they come, write their cells to a file if asked; return how many are wrong."""
    start, current, done = time.perf_counter(), "", []
    for table, made in found:
        if table.number != current:
            current = table.number
            print(f"\nTable {current}: {table.dataset.upper()}, {TITLES[table.patterns]}")
            print(f"{'k':>4} {'':9}" + "".join(f"{c.figure:>{WIDTHS[c.figure]}}" for c in made.cells))
        print(made, flush=True)
        done.append(made)
    cells = [cell for made in done for cell in made.cells if cell.figure != "r"]
    said = [cell for cell in cells if cell.claimed]
    wrong = [made for made in done if made.wrong]
    others = [cell for cell in cells if not cell.claimed]
    corrected = sum(cell.corrected != cell.paper for cell in said)
    print(
        f"\n{sum(cell.same for cell in said)} of {len(said)} cells that are said to be the paper's are, {corrected} "
        f"of them corrected (*); {sum(cell.same for cell in others)} of {len(others)} others (~). "
        f"{len(wrong)} of {len(done)} answers wrong. {time.perf_counter() - start:.0f} s."
    )
    if path:
        written = [{**asdict(cell), "same": cell.same} for made in done for cell in made.cells]
        path.write_text(json.dumps(written, indent=1) + "\n")
    return len(wrong)


def main() -> None:
    """Print the tables asked for; exit 1 when a cell or an answer is wrong."""
    numbers = [table.number for table in TABLES]
    ks = sorted({k for table in TABLES for k, _ in table.rows()})
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--table", nargs="+", choices=numbers, default=numbers)
    parser.add_argument("--k", nargs="+", type=int, choices=ks, default=ks)
    parser.add_argument("--method", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for one run of the exact solver")
    parser.add_argument("--json", type=Path, help="write the cells to this file")
    arguments = parser.parse_args()
    with Answers(arguments.data, arguments.time_limit) as answers:
        wrong = report(lines(answers, arguments.table, arguments.k, arguments.method), arguments.json)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
