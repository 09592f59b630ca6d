"""A privacy model from outside the package, checked against its contract before anything is encoded.

What cannot be seen here is whether ``min_suppressed``, ``size`` and ``monotone`` are true: see ``sqlanon.testing``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.core.models.base import Number, PrivacyModel, is_of_release
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.sqltrees import files as sqlfiles
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import InputError, attempt

OPTIONAL = ("of_persons", "for_source", "words", "sentence", "live_file")
"""Attributes and methods of the protocol that a model may lack."""
ATTRIBUTES = tuple(name for name in vars(PrivacyModel) if not name.startswith("_") and name not in OPTIONAL)
"""The attributes and methods of the protocol that a model must have."""
TOTAL, EVERYTHING = "total", "everything"
"""Columns of the histogram of a class in a live view: the records of a value among all, and all records."""
LIVE_AGGREGATES = (exp.Sum, exp.Max, exp.Min, exp.Count)
"""The aggregates of a ``live_file``: those that are exact on every engine."""
REFERENCES = {True: ("reference", "hierarchy"), False: ("population",)}
"""What an audit may read beside the release, by whether the model watches a column."""


def refuse_unsound(name: str, model: PrivacyModel) -> None:
    """Raise InputError unless a model has what its contract asks for, and its files are what they must be."""
    missing = [attribute for attribute in ATTRIBUTES if not hasattr(model, attribute)]
    if missing:
        raise _unsound(name, f"has no {', '.join(missing)}", "see sqlanon.extending.PrivacyModel.")
    if (model.column is not None) != model.watches:
        raise _unsound(name, "has a column without watching one, or the other way round", "set watches as it is.")
    for wanted in model.references:
        if wanted not in REFERENCES[model.watches]:
            raise _unsound(name, f"has an audit that reads {wanted!r}", f"choose from {REFERENCES[model.watches]}.")
    if is_of_release(model):
        raise _unsound(name, "judges a release, not classes, as only built-in models can", "leave out of_release.")
    meaning = _statement(name, model.file)
    _refuse_columns(name, model.file, meaning, ("fails", "min_suppressed", *(("class_key",) if model.watches else ())))
    if not model.watches and not _is_projection(meaning):
        raise _unsound(
            name,
            "has no column, but a file that does more than SELECT … FROM classes",
            "write one expression for fails and one for min_suppressed over the columns of classes.",
        )
    audit = _statement(name, model.audit_file)
    _refuse_columns(name, model.audit_file, audit, ("records",))
    _refuse_placeholders(name, model, audit, "audit")
    _refuse_live_file(name, model)


def _read_only(value: Any) -> Any:
    """Return an array as one that cannot be changed; anything else as it is."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        return value
    seen = value.view()
    seen.flags.writeable = False
    return seen


def own_live_file(model: PrivacyModel) -> Any:
    """Return the live file of a model's own class; one that it inherits knows nothing of what the class changes."""
    return model.live_file if "live_file" in vars(type(model)) else None


def _is_plain_aggregate(node: exp.AggFunc) -> bool:
    given = {key for key, value in node.args.items() if value and key != "big_int"}
    return isinstance(node, LIVE_AGGREGATES) and given == {"this"} and node.this.find(exp.AggFunc) is None


def live_condition(model: PrivacyModel) -> exp.Expr | None:
    """Return the condition of a model from outside on a class of a live view, a tree of the caller's own, or None."""
    file = own_live_file(model)
    if file is None:
        return None
    condition: exp.Expr = bind(file, values=model.audit_values(0)).expressions[0].unalias()
    return condition


def _refuse_live_file(name: str, model: PrivacyModel) -> None:
    """Refuse a live file that is not one condition over the values of a class, or over its size."""
    if (file := own_live_file(model)) is None:
        return
    if not isinstance(file, str):
        raise _unsound(name, "has a live file that is no path", "name a file by a text.")
    tree = _statement(name, file)
    source, known = ("histogram", {"n", TOTAL, EVERYTHING}) if model.watches else ("classes", {"n"})
    aggregates, cells = list(tree.find_all(exp.AggFunc)), list(tree.find_all(exp.Column))
    bare = {cell.name for cell in cells if cell.find_ancestor(exp.AggFunc) is None}
    right = (
        tree.named_selects == ["passes"]
        and not {key for key, value in tree.args.items() if value} - {"expressions", "from_", "from", "kind"}
        and [table.name for table in tree.find_all(exp.Table)] == [source]
        and not tree.find(exp.Subquery, exp.Window, exp.Filter, exp.Distinct)
        and {cell.name for cell in cells} <= known
        and all(map(_is_plain_aggregate, aggregates))
        and (bare <= {EVERYTHING} if model.watches else not aggregates)
    )
    if not right:
        over = "SUM, MAX, MIN and COUNT over " if model.watches else ""
        hint = f"write SELECT … AS passes FROM {source}, with {over}{', '.join(sorted(known))}."
        raise _unsound(name, f"has a live file {file!r} that is not one condition over {source}", hint)
    _refuse_placeholders(name, model, tree, "live file")


def _refuse_placeholders(name: str, model: PrivacyModel, tree: exp.Expr, of: str) -> None:
    given = attempt(f"The model {name!r}", lambda: set(model.audit_values(0)))
    if lacking := {placeholder.name for placeholder in tree.find_all(exp.Placeholder)} - given:
        raise _unsound(name, f"gives no value for :{min(lacking)} of its {of}", "add it to audit_values.")


def judge_checked(model: PrivacyModel, classes: ClassArrays, values: Mapping[str, Number]) -> Judgement:
    """Return the judgement of a model from outside the package on arrays of classes.

    Raises:
        InputError: it fails, or is not one flag a class and at most as many suppressed records as the class has.
    """
    import numpy as np

    what = f"The model {model.type!r}"
    arrays = {field.name: _read_only(getattr(classes, field.name)) for field in fields(classes)}
    classes = replace(classes, **arrays)  # other models, and what is counted of the node, read the same arrays
    judged = attempt(what, lambda: model.judge(classes, values))  # type: ignore[attr-defined]  # it has the method
    fails, least = judged if isinstance(judged, tuple) and len(judged) == 2 else (None, None)
    fails = attempt(what, lambda: np.asarray(fails))
    least = None if least is None else attempt(what, lambda: np.asarray(least))
    right = fails.dtype == np.bool_ and fails.shape == classes.n.shape
    if right and least is not None:
        right = least.dtype.kind in "iu" and least.shape == fails.shape
        right = right and bool(((least >= 0) & (least <= classes.n))[fails].all())
    if right:
        return fails, None if least is None else least.astype(np.int64)
    hint = "return an array of flags, and None or an array of whole numbers between 0 and classes.n."
    raise _unsound(model.type, "does not judge each class", hint)


def _unsound(name: str, what: str, hint: str) -> InputError:
    return InputError(f"The privacy model {name!r} {what}.", hint=hint)


def _statement(name: str, file: str) -> exp.Select:
    """Return the one SELECT of a file."""
    failure = "is no SELECT"
    try:
        tree = sqlfiles.parse(file)
        if isinstance(tree, exp.Select):
            return tree
    except (SqlglotError, UnicodeDecodeError):
        failure = "cannot be read as SQL of DuckDB"
    raise _unsound(name, f"has a file {file!r} that {failure}", "write one SELECT statement, in UTF-8.")


def _refuse_columns(name: str, file: str, tree: exp.Select, wanted: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in tree.named_selects]
    if missing:
        hint = "SELECT it under this name."
        if missing[0] == "min_suppressed" and "lost" in tree.named_selects:
            hint = "rename the column lost, as it was called formerly, to min_suppressed."
        raise _unsound(name, f"has a file {file!r} without the column {missing[0]}", hint)


def _is_projection(tree: exp.Select) -> bool:
    """Return True if a statement selects from the rows of ``classes`` one by one."""
    parts = {key for key, value in tree.args.items() if value} - {"expressions", "from_", "from", "kind"}
    tables = [table.name for table in tree.find_all(exp.Table)]
    return not parts and tables == ["classes"] and not tree.find(exp.Subquery, exp.AggFunc, exp.Window)
