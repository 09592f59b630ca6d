"""``sqlanon demo``: make the demo's database and policy, run it, and say where everything is."""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.commands.common import guarded
from sqlanon.commands.demo_world import generate
from sqlanon.commands.run import run_policy
from sqlanon.policy import Policy
from sqlanon.publish.targets import CERTIFICATE, MANIFEST


@click.command()
@click.argument("directory", type=click.Path(), default="sqlanon-demo")
@click.option("--records", type=click.IntRange(min=1_000), default=50_000, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def demo(directory: str, records: int, as_json: bool) -> None:
    """Make a hospital-discharge database with hierarchies and a policy in DIRECTORY, and run it."""

    def action() -> int:
        policy_path = generate(Path(directory), records=records)
        made = Policy.from_file(policy_path)
        code = run_policy(made, as_json=as_json)
        if not as_json:
            released = Path(made.output.target) if made.output else Path(directory)
            columns = ",".join(c.name for c in made.quasi_identifiers)
            print(f"\nThe source:   {policy_path.parent / 'hospital.duckdb'} (table {made.table})")
            print(f"The policy:   {policy_path}")
            print(f"The release:  {released}")
            print(f"Its manifest: {released}{MANIFEST}")
            print(f"Its proof:    {released}{CERTIFICATE}")
            print(f"Its report:   {made.report} (for you, not for those who get the release)")
            print("\nLook at it:   ", end="")
            print(f'python -c "import duckdb; print(duckdb.sql(\\"FROM \'{released}\' LIMIT 10\\"))"')
            print(f"Check it:     sqlanon check {released} --qi {columns} --k {made.privacy[0].parameters['k']}")
            print(f"Prove it:     sqlanon verify {released}{CERTIFICATE} {policy_path}")
        return code

    guarded(action, as_json=as_json)
