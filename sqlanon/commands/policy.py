"""``sqlanon policy check``: find the faults of policies without their sources."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sqlanon.commands.guarded import concealed, concealing, pick
from sqlanon.commands.verbosity import say
from sqlanon.errors import PolicyError, SqlanonError
from sqlanon.policy import Policy
from sqlanon.policy.hierarchy.readers import check_rows, read_hierarchy
from sqlanon.policy.hierarchy.specs import FileHierarchy
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
                files_of = f", and {hierarchies} hierarchy files" if hierarchies else ""
                say(f"{visible(file)}: no fault in the policy{files_of}; its source was not read.")
    if as_json:
        print(json.dumps({"valid": not worst, "policies": documents}))
    return worst


def _check(path: Path) -> int:
    """Read a policy and the files of its hierarchies, and return how many these are.

    Raises:
        SqlanonError: a file cannot be read, or has faults.
    """
    if is_tables_file(path):
        policies = [table.policy for table in TablesPolicy.from_file(path).tables]
    else:
        policies = [Policy.from_file(path)]
    hierarchies = 0
    for policy in policies:
        concealing(policy.conceal)
        for column in policy.columns:
            if isinstance(column.hierarchy, FileHierarchy):
                check_rows(read_hierarchy(column.hierarchy), column.name)
                hierarchies += 1
    return hierarchies


def _described(error: SqlanonError) -> dict[str, Any]:
    document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
    if isinstance(error, PolicyError):
        document["faults"] = [pick(fault, "key", "message", "hint") for fault in error.faults]
    return document | ({"hint": error.hint} if error.hint else {})
