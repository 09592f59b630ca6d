"""``sqlanon demo``: create the demo's database and policy, run it, and say where everything is."""

from __future__ import annotations

from pathlib import Path

from sqlanon.commands.demo_world import generate
from sqlanon.commands.progress import progress
from sqlanon.commands.run import run_policy
from sqlanon.commands.verbosity import say
from sqlanon.core.policy import Policy
from sqlanon.core.publish.papers import CERTIFICATE, MANIFEST


def execute(directory: str, records: int, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    with progress() as watch:
        policy_path = generate(Path(directory), records=records, watch=watch)
    policy = Policy.from_file(policy_path)
    code = run_policy(policy, as_json=as_json)
    if not as_json:
        say(_guide(policy, policy_path))
    return code


def _guide(policy: Policy, path: Path) -> str:
    """Return where the files of the demo are, and commands to try on them."""
    released = path.parent / Path(policy.output.target if policy.output else "").name
    columns = ",".join(column.name for column in policy.quasi_identifiers)
    return f"""
The source:   {path.parent / "hospital.duckdb"} (table {policy.table})
The policy:   {path}
The release:  {released}
Its manifest: {released}{MANIFEST}
Its proof:    {released}{CERTIFICATE}
Its report:   {path.parent / Path(policy.report or "").name} (internal: do not share with recipients)

Look at it:   python -c "import duckdb; print(duckdb.sql(\\"FROM '{released}' LIMIT 10\\"))"
Check it:     sqlanon check {released} --qi {columns} --k {policy.privacy[0].parameters["k"]}
Prove it:     sqlanon verify {released}{CERTIFICATE} {path}"""
