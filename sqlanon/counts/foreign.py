"""Tables of counts made elsewhere: which columns are dimensions, which categories are totals, what each cell shows.

A category is a path: the total of a dimension is the empty one, and what lies in another category begins with its path.
So ``("North",)`` is the sum of all ``("North", …)``. What names do not tell is confirmed by the numbers, or not used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlanon.core.words import counted
from sqlanon.counts.facts import Flags, Floats
from sqlanon.counts.foreign_cells import AskedOfTable, Bounds, is_decimal, kind_of, plain_text
from sqlanon.errors import InputError, listing

CategoryPath = tuple[str, ...]
ForeignPlace = tuple[CategoryPath, ...]
Labelled = Mapping[tuple[str, ...], tuple[str, Bounds]]
NO_COUNT = re.compile(
    r"%|percent|pct|\bshare|anteil|quote\b|\brate|proportion|ratio|\bmean|average|median|mittel", re.I
)
CODED = re.compile(r"\b(year|jahr|année|año|anno|age|alter|âge|code|id|nr|no|month|monat|quarter|plz|zip)\b", re.I)
SUBTOTAL = re.compile(
    r"^(of which|of whom|thereof|darunter|davon|dont|incl)\b|\btotals?\b|summe\b|gesamt|\binsgesamt|\btotale\b", re.I
)
FLAG = re.compile(r"suppress|flag|hidden|status|symbol", re.I)
CHANCE, LIKELY = 6.0, 2.0
"""Digits that must agree before chance hardly explains a sum that no name tells, and one that a code tells."""
WIDE = "column"
"""The dimension of a wide table whose categories are columns."""


@dataclass(slots=True)
class ForeignTable:
    """A table as it was recognized.

    Attributes:
        cells: what each cell shows; ``kinds`` says in which way.
        notes: what was recognized or left out, for a person.
        unread: columns that tell something of the counts and were not used; of such a table nothing is claimed.
    """

    name: str
    dimensions: list[str]
    cells: dict[ForeignPlace, Bounds]
    kinds: dict[ForeignPlace, str]
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def recognize(name: str, columns: Mapping[str, Sequence[object]], asked: AskedOfTable) -> ForeignTable:
    """Return a table as it reads.

    Raises:
        InputError: what it means is not clear; says which option tells.
    """
    texts = {title: [plain_text(value) for value in values] for title, values in columns.items()}
    found = ForeignTable(name, [], {}, {})
    by, counts, wide = _roles(texts, asked, found)
    rows = _labels({title: texts[title] for title in by}, {title: texts[title] for title in counts}, asked, found)
    _mark_unclear(texts, counts, asked)
    is_wide = len(counts) > 1
    shows_zero = any(kind_of(text, asked.marks)[1] == (0, 0) for title in counts for text in texts[title])
    labelled: dict[tuple[str, ...], tuple[str, Bounds]] = {}
    for row, labels in rows:
        for title in counts:
            place = (*labels, title) if is_wide else labels
            kind, (low, high) = kind_of(texts[title][row], asked.marks)
            if kind == "bound" and shows_zero and texts[title][row].casefold() not in asked.marks:
                low = max(low, 1.0)  # where 0 is shown, "< 5" is none
            said = kind, (low, high)
            if place in labelled and (labelled[place] != said or kind != "count"):
                raise InputError(
                    f"Several rows of {name!r} have the same categories in {listing(by) or 'no column'}.",
                    hint="name all columns with categories, --by region,year, and those with counts, --count n.",
                )
            labelled[place] = said
    found.dimensions = [*by, *([wide] if is_wide else [])]
    _with_paths(labelled, asked, found)
    return found


def _roles(
    texts: Mapping[str, Sequence[str]], asked: AskedOfTable, found: ForeignTable
) -> tuple[list[str], list[str], str]:
    """Return the columns with categories, those with counts, and what the dimension of the latter is called."""
    known = {title.casefold(): title for title in texts}
    named = [title for text in asked.by for title in text.split(">")]
    wide, _, first = asked.count[0].rpartition("=") if asked.count else ("", "", "")
    counts = [*([first] if asked.count else []), *asked.count[1:]]
    for title in [*named, *counts]:
        if title.strip().casefold() not in known:
            raise InputError(f"{found.name!r} has no column {title.strip()!r}.", hint=f"it has {listing(texts)}.")
    named, counts = ([known[each.strip().casefold()] for each in own] for own in (named, counts))
    by, valued, left, order = list(named), list(counts), [], [*texts]
    for title in [each for each in texts if each not in named and each not in counts]:
        kinds = Counter(kind_of(text, asked.marks)[0] for text in texts[title])
        filled = len(texts[title]) - kinds["blank"]
        numbers = kinds["count"] + kinds["bound"]
        is_part = kinds["part"] + numbers > 0 and (NO_COUNT.search(title) or is_decimal(texts[title]))
        if is_part or kinds["part"] * 2 > filled > 0:
            left.append(title)
            found.unread += [] if counts else [f"the column {title!r} was not judged"]
        elif not filled or (FLAG.search(title) and len({*texts[title]}) < 6):
            left.append(title)
            found.unread += [] if filled else [f"the column {title!r} is blank, and was not judged"]
        elif (numbers + kinds["mark"] + kinds["dash"]) * 2 > filled and not _is_coded(title, texts[title], kinds):
            (left if counts else valued).append(title)
        elif not asked.by and any(order.index(each) < order.index(title) for each in valued):  # a remark, more likely
            left.append(title)
            found.unread.append(f"the column {title!r} was not judged")
        else:
            (left if asked.by else by).append(title)
    if left:
        found.notes.append(f"left out: {', '.join(left)}")
    if not valued:
        raise InputError(
            f"{found.name!r} has no column of counts.", hint="name it: --count n; or --read … where it begins."
        )
    return by, valued, wide or WIDE


def _is_coded(title: str, texts: Sequence[str], kinds: Counter[str]) -> bool:
    """Return whether whole numbers are categories: years, ages or codes."""
    if not kinds["count"]:
        return len({text for text in texts if kind_of(text, {})[0] == "bound"}) > 1
    if kinds["count"] + kinds["bound"] < len(texts) - kinds["blank"] - 1:
        return False
    years = all(re.fullmatch(r"(19|20)\d\d", text) for text in texts if text)
    return bool(CODED.search(title) or years or any(re.fullmatch(r"0\d+", text) for text in texts))


def _mark_unclear(texts: Mapping[str, Sequence[str]], counts: Sequence[str], asked: AskedOfTable) -> None:
    """Raise InputError if cells show what may be 0 or suppressed, or nothing that is known."""
    cells = [text for title in counts for text in texts[title]]
    meanings = {"dash": "may be 0, or suppressed", "text": "is no number", "part": "is no whole number"}
    for kind, meaning in meanings.items():
        unclear = Counter(text for text in cells if kind_of(text, asked.marks)[0] == kind)
        if unclear:
            mark = min(unclear, key=len)
            raise InputError(
                f"{mark[:8]!r} {meaning}, in {counted(unclear[mark], 'cell')} of counts.",
                hint=f"say which: --mark {mark[:8]!r} for suppressed, --mark '{mark[:8]}=0' for 0; or name the columns "
                "with counts, --count n, and those with categories, --by region,year.",
            )


def _labels(
    by: Mapping[str, Sequence[str]],
    counts: Mapping[str, Sequence[str]],
    asked: AskedOfTable,
    found: ForeignTable,
    fills: bool = True,
) -> list[tuple[int, tuple[str, ...]]]:
    """Return the rows that hold counts with their categories; a blank one is that above, or the total."""
    titles, above = [*by], [""] * len(by)
    has_total = [bool(asked.totals(texts)) for texts in by.values()]
    rows: list[tuple[int, tuple[str, ...]]] = []
    said: Counter[str] = Counter()
    for row in range(len(next(iter(counts.values())))):
        labels = [by[title][row] for title in titles]
        filled = [place for place, label in enumerate(labels) if label]
        if not any(texts[row] for texts in counts.values()):
            is_short = len(filled) < len(by) or (len(counts) > 1 and len(filled) == len(by))
            if (filled in ([], [0]) and is_short and len(by) > 0) or (filled and len(labels[filled[0]]) > 40):
                above = [labels[0], *[""] * (len(by) - 1)] if filled == [0] and len(by) > 1 else above
                said["a note or heading, without counts"] += 1
                continue
        for place, label in enumerate(labels):
            if label:
                continue
            if fills and filled and place < filled[-1] and above[place] and labels[:place] == above[:place]:
                labels[place] = above[place]
                said["a blank category, which is read as the one above"] += 1
            elif not has_total[place]:
                said[f"no category of {titles[place]!r}, which is read as its total"] += 1
            else:
                labels[place] = "(blank)"
        above = labels
        rows.append((row, tuple(labels)))
    if fills and len({labels for _, labels in rows}) < len(rows):
        return _labels(by, counts, asked, found, fills=False)
    found.notes += [f"{counted(number, 'row')} with {what}" for what, number in said.items()]
    return rows


def _with_paths(labelled: Labelled, asked: AskedOfTable, found: ForeignTable) -> None:
    """Give each cell its path in every dimension; nested dimensions become one."""
    places = [*labelled]
    dimensions = [[title] for title in found.dimensions]
    paths: list[list[CategoryPath]] = []
    for position in range(len(dimensions)):
        own = _tree(position, labelled, asked, found)
        paths.append([own[place[position]] for place in places])
    asked_nested = [[part.strip().casefold() for part in text.split(">")] for text in asked.by]
    for inner in range(len(dimensions) - 1, 0, -1):
        for outer in range(inner):
            a, b = dimensions[outer][0].casefold(), dimensions[inner][0].casefold()
            named = any(a in each and b in each[each.index(a) :] for each in asked_nested)
            if named or _nests(paths[outer], paths[inner]):
                joined = [one + two if one else one for one, two in zip(paths[outer], paths[inner], strict=True)]
                inside = {one[0] for one in joined if len(one) > 1}
                alone = {one for one in paths[outer] if one and one[0] not in inside}
                is_named = len({*paths[outer]} - {()} - alone) == len({*paths[inner]} - {()})
                if is_named and len(alone) == 1:  # a code of what is called the total
                    joined = [() if one in alone else one for one in joined]
                paths[outer] = joined
                dimensions[outer] += dimensions[inner]
                found.notes.append(f"{dimensions[inner][0]!r} is nested in {dimensions[outer][0]!r}")
                del paths[inner], dimensions[inner]
                break
    found.dimensions = [" > ".join(titles) for titles in dimensions]
    for place, path in zip(places, zip(*paths, strict=True) if paths else [()] * len(places), strict=True):
        kind, bounds = labelled[place]
        if found.cells.setdefault(path, bounds) != bounds:
            raise InputError(
                f"Two rows of {found.name!r} are the same cell, and show two things.",
                hint="name the totals, --total Total, and the columns with categories, --by region,year.",
            )
        found.kinds[path] = kind


def _nests(outer: Sequence[CategoryPath], inner: Sequence[CategoryPath]) -> bool:
    """Return whether each category of one dimension lies in one of another, of which one has several."""
    pairs = {(one, two) for one, two in zip(outer, inner, strict=True) if two}
    around, at = {one for one, _ in pairs}, Counter(two for _, two in pairs)
    return 1 < len(around) <= len(at) == len(pairs) and () not in around


def _tree(position: int, labelled: Labelled, asked: AskedOfTable, found: ForeignTable) -> dict[str, CategoryPath]:
    """Return the path of each category of a dimension."""
    name, count = found.dimensions[position], len(found.dimensions)
    of_all = [[*dict.fromkeys(place[n] for place in labelled)] for n in range(count)]
    totals = [[label for label in labels if not label] or asked.totals(labels) for labels in of_all]
    labels, roots = of_all[position], totals[position]
    if len(roots) > 1:
        raise InputError(
            f"Several categories of {name!r} may be its total: {listing(roots)}.", hint="name it: --total Total."
        )
    others = [label for label in labels if label not in roots]
    rest = {line: at for at, line in enumerate(dict.fromkeys(p[:position] + p[position + 1 :] for p in labelled))}
    own = totals[:position] + totals[position + 1 :]
    weighs = np.array([not any(one in of for one, of in zip(line, own, strict=True)) for line in rest], np.bool_)
    values = np.full((len(rest), len(others)), np.nan)
    at = {label: number for number, label in enumerate(others)}
    for place, (_, (low, high)) in labelled.items():
        if low == high and place[position] in at:
            values[rest[place[:position] + place[position + 1 :]], at[place[position]]] = low
    above: dict[int, int] = {}
    is_rounded = (asked.rounded or 1) > 1
    for parent, children in _sums(others, (values, weighs), asked, is_rounded, found):
        above |= dict.fromkeys(children, parent)
        found.notes.append(f"{others[parent]!r} is the sum of {counted(len(children), 'category')} of {name!r}")
    if unclear := [label for n, label in enumerate(others) if SUBTOTAL.search(label) and n not in {*above.values()}]:
        raise InputError(
            f"{listing(unclear)} of {name!r} may be a subtotal, which the numbers do not tell.",
            hint=f"name its parts, --total '{unclear[0]}=a,b', and the other totals too.",
        )
    if roots and len(others) - len(above) < 2:
        found.unread.append(f"the total of {name!r} has one category, and is taken for no sum")
        roots = []

    def path(number: int) -> CategoryPath:
        return (*(path(above[number]) if number in above else ()), others[number])

    if roots and roots[0]:
        found.notes.append(f"{roots[0]!r} is the total of {name!r}")
    if not roots and not above and len(labels) > 2:
        found.notes.append(f"no total of {name!r} was recognized; if it has one, name it: --total TEXT")
    return {label: () if label in roots else path(at[label]) if label in at else (label,) for label in labels}


def _sums(
    labels: Sequence[str], values: tuple[Floats, Flags], asked: AskedOfTable, is_rounded: bool, found: ForeignTable
) -> Iterable[tuple[int, list[int]]]:
    """Yield categories that are named as sums, those whose codes begin those of others, and those that are the sum of
    the ones right after or before them."""
    left, taken = [*range(len(labels))], set[int]()
    codes = [label.split()[0].rstrip(".:") for label in labels]
    under = {n: [m for m in left if m != n and codes[m] != codes[n] and codes[m].startswith(codes[n])] for n in left}
    is_tree = all(under[n] or any(n in own for own in under.values()) for n in left) and any(
        map(str.isdigit, "".join(codes))
    )
    for parent in sorted(left, key=lambda number: -len(codes[number])):
        named = asked.sums.get(labels[parent])
        children = [n for n in left if (labels[n] in named if named else n in under[parent])]
        holds = _is_sum(*values, parent, children, LIKELY) if children else None
        if len(children) > 1 and (named or holds or (holds is None and is_tree)):
            if holds is None and not named:
                found.unread.append(f"{labels[parent]!r} is taken for a sum by its code alone")
            left = [number for number in left if number not in children]
            yield parent, children

    def runs() -> Iterator[tuple[int, list[int]]]:
        for place, parent in enumerate(left):
            for side in (left[place + 1 :], left[:place][::-1]):
                yield from ((parent, side[:end]) for end in range(2, len(side) + 1) if parent not in taken)

    if is_rounded or len(labels) > 100:
        return
    while pair := next((each for each in runs() if _is_sum(*values, *each, CHANCE)), None):
        left = [number for number in left if number not in pair[1]]
        taken.add(pair[0])
        yield pair


def _is_sum(values: Floats, weighs: Flags, parent: int, children: Sequence[int], least: float) -> bool | None:
    """Return whether a category is the sum of others wherever all are shown; None if too few digits agree to tell.

    Args:
        weighs: the lines that count: those of totals agree where the others do.
    """
    whole, parts = values[:, parent], values[:, children]
    complete = ~np.isnan(whole) & ~np.isnan(parts).any(axis=1)
    if not (whole[complete] == parts[complete].sum(axis=1)).all():
        return False
    lines = {tuple(line) for line in parts[complete & weighs].tolist() if sum(value > 0 for value in line) > 1}
    return True if sum(np.log10(1 + sum(line)) for line in lines) >= least else None


def base_of(values: Iterable[float]) -> int:
    """Return the base that counts are rounded to: one that chance hardly explains, 1 for none."""
    numbers = [int(value) for value in values if value]
    base = int(np.gcd.reduce(numbers)) if numbers else 1
    return base if base > 2 and len({*numbers}) * np.log10(base) >= 6 else 1
