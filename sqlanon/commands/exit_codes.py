"""The exit codes of each command, as its help lists them."""

from __future__ import annotations

import click

NOT_MET = "the policy cannot be met, or its search ended before anything was found; nothing was published"
NO_VERDICT = ""
WITH_ONE = {
    "demo": NOT_MET,
    "run": NOT_MET,
    "refresh": f"{NOT_MET}, and the old view stays",
    "evidence": NOT_MET,
    "explain": NOT_MET,
    "dbt": NOT_MET,
    "utility": NOT_MET,
    "attack": "an attack is above --fail-over",
    "frontier": "no point of the grid can be met",
    "check": "it does not hold",
    "verify": "it does not hold",
    "convert": "the policy lacks a privacy model of the project",
    **dict.fromkeys(
        (
            "profile",
            "nulls",
            "risk",
            "clean",
            "show",
            "forget",
            "mcp",
            "studio",
            "completion",
            "versions",
            "help",
            "schema",
        ),
        NO_VERDICT,
    ),
}
"""What the exit code 1 of a command means; commands that judge nothing have none."""
FAULTS = (("policy", "check"), ("hierarchy", "check"))
"""Commands to which a fault is bad input."""
OF_ALL = "the policy cannot be met, or a check failed"


def write(formatter: click.HelpFormatter, *words: str) -> None:
    """Write the exit codes of a command, by its words, or of the program, at the end of its help."""
    command = words[-1] if words else ""
    one = NO_VERDICT if words in FAULTS else WITH_ONE.get(command, OF_ALL)
    rows = [
        ("0", "done" if words in FAULTS or command not in ("check", "verify") else "it holds"),
        *([("1", one)] if one else []),
        ("2", "bad input or usage, or a database refused a statement"),
        *([("3", "nothing new was there to release (--if-changed)")] if command == "run" else []),
        ("130", "interrupted by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)"),
    ]
    with formatter.section("Exit codes"):
        formatter.write_dl(rows)
