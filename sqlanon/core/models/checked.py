"""A privacy model from outside the package, checked against its contract before anything is encoded.

What cannot be seen here is whether ``min_suppressed``, ``size`` and ``monotone`` are true: see ``sqlanon.testing``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.core.models.base import PrivacyModel, is_of_release
from sqlanon.core.sqltrees import files as sqlfiles
from sqlanon.errors import InputError, attempt

OPTIONAL = ("of_persons", "for_source", "words", "sentence")
"""Attributes and methods of the protocol that a model may lack."""
ATTRIBUTES = tuple(name for name in vars(PrivacyModel) if not name.startswith("_") and name not in OPTIONAL)
"""The attributes and methods of the protocol that a model must have."""
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
    given = attempt(f"The model {name!r}", lambda: set(model.audit_values(0)))
    lacking = {placeholder.name for placeholder in audit.find_all(exp.Placeholder)} - given
    if lacking:
        raise _unsound(name, f"gives no value for :{min(lacking)} of its audit", "add it to audit_values.")


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
