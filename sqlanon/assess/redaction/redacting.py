"""Columns of texts that a function rewrites (``redact``), hunted after it for values of columns that are not published.

The function meets each distinct text once. The words of what it returns, and up to ``TOGETHER`` of them as one where a
digit is among them (numbers are written with blanks and signs), meet the words of all values of the hunted columns by
an equality join; the values of a record itself are looked for anywhere in its text. Hunted are columns with more values
than categories have. All that is compared has been put in its normal form by the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.replay import temporary_table
from sqlanon.core.policy import Column, Policy
from sqlanon.core.policy.ledger import person_column
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.known import MANY
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    NORMAL,
    bigint,
    canonical,
    column,
    count_distinct,
    count_if,
    count_rows,
    equal,
    named,
    not_null,
    number,
    table,
    union_all,
    when,
)  # fmt: skip
from sqlanon.errors import IdentifyingColumnError, InputError, attempt

SHORTEST, SHORTEST_OWN = 4, 3
"""Characters of a word that is looked for in all texts, and in those of its own record; others are in any text."""
PARTS, TOGETHER = 12, 10
"""Words of a value that are looked for, and words in a row that may be one number together."""
SIGNS = "-.,;:/'()\"_@#+!?[]{}<>*=|&%$~^`´\\–—‘’‚“”„«»‹›…·•\t\n\r\v\f"
AT_ONCE = 10_000
TEXTS, SPACED, WORDS, MET = (f"{names.PREFIX}{name}" for name in ("texts", "spaced", "words", "met"))
FOUND = names.PREFIX + "found"


def redact_texts(opened: Source, policy: Policy) -> Source:
    """Return a source whose columns to redact hold what their functions return, in a table of ours.

    Raises:
        IdentifyingColumnError: texts hold values of columns that are not published, and the policy refuses that.
        InputError: a function failed or returned no text, or its column holds no texts.
    """
    for item in policy.columns:
        if item.redact is not None and item.name in opened.readable:
            opened = _redacted(opened, policy, item)
    return opened


def _redacted(opened: Source, policy: Policy, item: Column) -> Source:
    engine, target, by = opened.engine, f"{names.PREFIX}redacted_{policy.columns.index(item)}", item.redact or ""
    if opened.types[item.name].upper() not in ("VARCHAR", "TEXT"):
        hint = "remove redact, or read it as a text in a view of the source."
        raise InputError(f"Column {item.name!r} holds no texts, and is to be redacted.", hint=hint)
    engine.capabilities.require("keyed")  # those engines know the normal form of a text
    hunted, own_alone, unseen = _hunted(opened, policy)
    values, changed, blank = _rewrite(opened, policy, item)
    _split(engine)
    known = [part for name in hunted for part in _words(opened, name)]
    ids = exp.select(column("id", "w")).from_(table(WORDS, "w")).distinct()
    if known:
        words = union_all(known).subquery("known")
        ids = ids.join(words, on=equal(column("word", "w"), column("word", "known")))
    engine.create("values in texts", MET, ids if known else ids.where(exp.false()), replayed=False)
    rows = engine.create("redact", target, _records(opened, item, [*hunted, *own_alone]), replayed=False)
    cells = [exp.cast(exp.null(), "VARCHAR") if name == item.name else column(name) for name in opened.readable]
    without = exp.select(*map(named, cells, opened.readable)).from_(opened.relation.copy())
    engine.replay.append(("redacted texts: load them here", temporary_table(target, without)))
    counts = exp.select(*(count_if(equal(column(FOUND), number(code))) for code in (2, 1))).from_(table(target))
    own, others = map(int, engine.run("records with values", counts)[0])
    engine.drop_column(target, FOUND)
    for used in (TEXTS, SPACED, WORDS, MET):
        engine.drop(used)
    said = (
        f"{own + others} of {rows} records hold values of columns that are not published in {item.name!r} once it is "
        f"redacted: {own} of their own record, {others} of others (looked for: {', '.join(hunted) or 'no column'}"
        f"{'; in texts of the same record: ' + ', '.join(own_alone) if own_alone else ''}"
        f"{'; not looked for, as they hold lists: ' + ', '.join(unseen) if unseen else ''})"
    )
    if own + others and item.redact_finds == "refuse":
        hint = f"let {by} take them out, say redact_finds: blank for the column, or drop it."
        counted = {item.name: {"own_record": own, "other_records": others}}
        raise IdentifyingColumnError(f"{said}.", hint=hint, columns=counted)
    note = (
        f"{by} rewrote {item.name!r}: of {values} values {changed} are changed and {blank} blank. {said}"
        f"{'; there it is blank' if own + others else ''}."
    )
    return replace(opened, relation=table(target), warnings=(*opened.warnings, note))


def _hunted(opened: Source, policy: Policy) -> tuple[list[str], list[str], list[str]]:
    """Return the columns whose values are looked for in all texts, in those of the same record alone, and nowhere.

    The first are not published, and have more values than categories have, or name the persons; the second are
    quasi-identifiers with so many values, of which less is published; the last cannot be compared.
    """
    persons = {policy.entity, person_column(policy)}
    roles = {item.name: item.role for item in policy.columns}
    open_to = {name: kind for name, kind in opened.readable.items() if roles.get(name) not in ("sensitive", "keep")}
    types = {name: kind for name, kind in open_to.items() if is_scalar(kind)}
    distinct = [count_distinct(canonical(name, kind)) for name, kind in types.items()]
    [(records, *counts)] = opened.engine.run(
        "values of dropped columns", exp.select(count_rows(), *distinct).from_(opened.relation.copy())
    )
    enough = min(MANY, records // 2)
    many = [name for name, count in zip(types, counts, strict=True) if count > enough or name in persons]
    everywhere = [name for name in many if roles.get(name) != "quasi_identifier" or name in persons]
    unseen = [name for name in open_to if name not in types]
    return everywhere, [name for name in many if name not in everywhere], unseen


def _rewrite(opened: Source, policy: Policy, item: Column) -> tuple[int, int, int]:
    """Load the texts that a function makes of the distinct texts of a column, and count them, those that are other
    texts, and those that are none."""
    by = item.redact or ""
    function = policy.extensions.redactor(by)
    text = canonical(item.name, "VARCHAR")
    query = exp.select(named(text, "value")).distinct().from_(opened.relation.copy()).where(not_null(column(item.name)))
    given = opened.engine.arrow("texts to redact", query).column(0).combine_chunks()
    changed = blank = 0
    for start in range(0, max(len(given), 1), AT_ONCE):
        values = given.slice(start, AT_ONCE).to_pylist()
        texts = attempt(f"The redactor {by!r}", lambda values=values: [function(value) for value in values])  # type: ignore[misc]
        if not all(made is None or isinstance(made, str) for made in texts):
            raise InputError(f"The redactor {by!r} returned what is no text.", hint="let it return a text, or None.")
        changed += sum(made is not None and made != value for made, value in zip(texts, values, strict=True))
        blank += texts.count(None)
        ids = pa.array(range(start, start + len(values)), pa.int64())
        made = pa.table({"id": ids, "value": pa.array(values, pa.string()), "text": pa.array(texts, pa.string())})
        opened.engine.load("redacted texts", TEXTS, made, replayed=False, more=start > 0)
    return len(given), changed, blank


def _split(engine: Engine) -> None:
    """Load the words of the redacted texts."""
    spaced = exp.select(exp.Star(), named(_spaced(column("text")), "spaced")).from_(table(TEXTS))
    engine.create("normal texts", SPACED, spaced, replayed=False)
    query = exp.select(column("id"), column("spaced")).from_(table(SPACED)).where(not_null(column("text")))
    found = engine.arrow("words of texts", query)
    for start in range(0, max(len(found), 1), AT_ONCE):
        rows = found.slice(start, AT_ONCE).to_pydict().values()
        pairs = [(number, word) for number, text in zip(*rows, strict=True) for word in set(_together(text.split()))]
        ids, words = pa.array([p[0] for p in pairs], pa.int64()), pa.array([p[1] for p in pairs], pa.string())
        engine.load("words of texts", WORDS, pa.table({"id": ids, "word": words}), replayed=False, more=start > 0)


def _together(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a text, and those of several in a row that make a number together."""
    for length in range(1, TOGETHER + 1):
        for start in range(len(words) - length + 1):
            word = "".join(words[start : start + length])
            if len(word) >= SHORTEST and (length == 1 or any(sign.isdigit() for sign in word)):
                yield word


def _words(opened: Source, name: str) -> list[exp.Select]:
    """Select the words of the values of a column, and the values as one word."""
    values = exp.select(named(_spaced(canonical(name, opened.types[name])), "spaced")).from_(opened.relation.copy())
    return [
        exp.select(named(piece, "word")).from_(values.distinct().subquery("values")).where(_is_long(piece, SHORTEST))
        for piece in (_squeezed(column("spaced")), *_parts(column("spaced")))
    ]


def _records(opened: Source, item: Column, hunted: Sequence[str]) -> exp.Select:
    """Select all records with what their text has become, and where a value was found in it: 2 for one of the record
    itself, 1 for one of another."""
    types = opened.readable
    spaced = [named(_spaced(canonical(name, types[name])), f"sqlanon_{i}") for i, name in enumerate(hunted)]
    records = exp.select(*map(column, types), *spaced).from_(opened.relation.copy()).subquery("records")
    holds = [
        exp.and_(
            _is_long(piece, least), exp.GT(this=exp.StrPosition(this=text, substr=piece.copy()), expression=number(0))
        )
        for i in range(len(hunted))
        for whole in [column(f"sqlanon_{i}", "records")]
        for text, pieces, least in (
            (column("spaced", "t"), [whole, *_parts(whole)], SHORTEST_OWN),
            (_squeezed(column("spaced", "t")), [_squeezed(whole)], SHORTEST),
        )
        for piece in pieces
    ]
    met = when(not_null(column("id", "m")), number(1), number(0))
    found = when(exp.or_(*holds), number(2), met) if holds else met
    text: exp.Expr = column("text", "t")
    if item.redact_finds == "blank":
        text = when(equal(found, number(0)), text)
    cells = [named(text, name) if name == item.name else column(name, "records") for name in types]
    own = canonical(item.name, "VARCHAR", "records")
    return (
        exp.select(*cells, named(bigint(found.copy()), FOUND))
        .from_(records)
        .join(table(SPACED, "t"), on=equal(own, column("value", "t")), join_type="left")
        .join(table(MET, "m"), on=equal(column("id", "t"), column("id", "m")), join_type="left")
    )


def _parts(spaced: exp.Expr) -> list[exp.Expr]:
    blank = exp.Literal.string(" ")
    return [
        exp.Anonymous(this="SPLIT_PART", expressions=[spaced.copy(), blank.copy(), number(place)])
        for place in range(1, PARTS + 1)
    ]


def _is_long(text: exp.Expr, least: int) -> exp.Expr:
    return exp.GTE(this=exp.Length(this=text.copy()), expression=number(least))


def _squeezed(text: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="REPLACE", expressions=[text.copy(), exp.Literal.string(" "), exp.Literal.string("")])


def _spaced(text: exp.Expr) -> exp.Expr:
    """Return the normal form of a text, with blanks for signs."""
    signs, blanks = exp.Literal.string(SIGNS), exp.Literal.string(" " * len(SIGNS))
    return exp.Anonymous(this="TRANSLATE", expressions=[exp.Anonymous(this=NORMAL, expressions=[text]), signs, blanks])
