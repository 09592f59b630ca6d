"""``sqlanon policy check``: find the faults of policies without their sources."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlanon.commands.guarded import concealed, concealing
from sqlanon.commands.verbosity import say
from sqlanon.core.facts import pick
from sqlanon.core.hierarchies.readers import check_rows, read_hierarchy
from sqlanon.core.hierarchies.specs import FileHierarchy
from sqlanon.core.policy import Policy
from sqlanon.core.policy.documents import read_document
from sqlanon.core.policy.parsing import file_hierarchies
from sqlanon.core.policy.variables import expand
from sqlanon.core.policy.written_places import conceal
from sqlanon.core.words import counted
from sqlanon.errors import Fault, PolicyError, SqlanonError
from sqlanon.report.wording import visible
from sqlanon.tables.policy import TablesPolicy, is_tables_file


def execute(files: tuple[str, ...], as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    documents, worst = [], 0
    for file in files:
        try:
            hierarchies = _check(Path(file))
        except SqlanonError as error:
            worst = max(worst, error.exit_code)
            documents.append({"file": file, "valid": False, **concealed(_described(error))})
            print(f"{visible(file)}: {type(error).__name__}: {concealed(str(error))}", file=sys.stderr)
        else:
            documents.append({"file": file, "valid": True, "hierarchies": hierarchies})
            if not as_json:
                files_of = f", nor in {counted(hierarchies, 'hierarchy file')}" if hierarchies else ""
                say(f"{visible(file)}: no fault in the policy{files_of}; its source was not read.")
    if as_json:
        print(json.dumps({"valid": not worst, "policies": documents}))
    return worst


def _check(path: Path) -> int:
    """Read a policy and the files of its hierarchies, and return how many these are.

    Raises:
        SqlanonError: a file cannot be read, or has faults. Those of the policy and of all files are raised together.
    """
    try:
        if is_tables_file(path):
            policies = {f"tables.{table.name}.": table.policy for table in TablesPolicy.from_file(path).tables}
        else:
            policies = {"": Policy.from_file(path)}
    except PolicyError as error:
        document, base = read_document(path), path.absolute().parent
        if isinstance(document, Mapping):
            with suppress(PolicyError):  # a variable is not set, which is among the faults
                document, places = expand(document)
                concealing(lambda text: conceal(text, places, base))
        tables = document.get("tables") if isinstance(document, Mapping) else None
        parts = {f"tables.{name}.": item for name, item in tables.items()} if isinstance(tables, Mapping) else {}
        named = {p: file_hierarchies(item, base) for p, item in (parts or {"": document}).items()}
        others = [Fault(key, e.message, e.hint or "correct the file.") for key, e in _faulty_files(named)]
        raise PolicyError([*error.faults, *others]) if others else error from None
    for policy in policies.values():
        concealing(policy.conceal)
    files = {
        prefix: {c.name: c.hierarchy for c in policy.columns if isinstance(c.hierarchy, FileHierarchy)}
        for prefix, policy in policies.items()
    }
    errors = _faulty_files(files)
    if len(errors) == 1:
        raise errors[0][1]
    if errors:
        raise PolicyError([Fault(key, error.message, error.hint or "correct the file.") for key, error in errors])
    return sum(map(len, files.values()))


def _faulty_files(files: Mapping[str, Mapping[str, FileHierarchy]]) -> list[tuple[str, SqlanonError]]:
    """Return the errors of hierarchy files by the keys of the policy that name them.

    Args:
        files: column -> its file, by what stands before ``columns`` in a key.
    """
    errors = []
    for prefix, specs in files.items():
        for name, spec in specs.items():
            try:
                check_rows(read_hierarchy(spec), name)
            except SqlanonError as error:
                errors.append((f"{prefix}columns.{name}.hierarchy", error))
    return errors


def _described(error: SqlanonError) -> dict[str, Any]:
    document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
    if isinstance(error, PolicyError):
        document["faults"] = [pick(fault, "key message hint") for fault in error.faults]
    return document | ({"hint": error.hint} if error.hint else {})
