"""The command line. Exit codes: 0 done; 1 the policy cannot be met, or a check failed; 2 bad input or usage.

Standard output holds the answer, and with ``--json`` exactly one JSON document; progress, warnings and errors go to
standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from sqlglot import exp

from sqlanon.anonymizer import VERSION, Plan, Release, anonymize, plan
from sqlanon.audit.check import CheckResult, check_relation
from sqlanon.compiler import evaluate as compiler
from sqlanon.demo import generate
from sqlanon.driver import Watcher
from sqlanon.engines.duckdb import DuckDBEngine
from sqlanon.errors import InputError, NoSolutionError, PolicyError, SqlanonError
from sqlanon.hierarchy.readers import check_rows, read_rows
from sqlanon.lookups import list_ancestors
from sqlanon.models import made as made_model
from sqlanon.models.base import PrivacyModel
from sqlanon.models.k_anonymity import KAnonymity
from sqlanon.policy import Model, Policy
from sqlanon.policy_parsing import model_named
from sqlanon.report.proof_file import write_proof
from sqlanon.search.base import Progress
from sqlanon.sources import open_source, reference_relation
from sqlanon.targets import CERTIFICATE, MANIFEST
from sqlanon.verification import Verification, verify

STDERR = Console(stderr=True, highlight=False)


def _fail(error: SqlanonError, *, as_json: bool) -> NoReturn:
    """Tell an error where the user looks for it, and exit with its code."""
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
        if isinstance(error, NoSolutionError):
            document["nearest"] = error.nearest
        if isinstance(error, PolicyError):
            document["message"] = str(error)
            document["faults"] = [
                {"key": fault.key, "message": fault.message, "hint": fault.hint} for fault in error.faults
            ]
        if error.hint:
            document["hint"] = error.hint
        print(json.dumps(document))
    sys.exit(error.exit_code)


def _guarded(action: Callable[[], int], *, as_json: bool = False) -> NoReturn:
    try:
        code = action()
    except SqlanonError as error:
        _fail(error, as_json=as_json)
    except KeyboardInterrupt:
        print("Interrupted; nothing was published.", file=sys.stderr)
        if as_json:
            print(json.dumps({"error": "SearchStoppedError", "message": "Interrupted; nothing was published."}))
        sys.exit(1)
    sys.exit(code)


@contextmanager
def _progress(enabled: bool) -> Iterator[Watcher | None]:
    """A line on standard error while a search runs; nothing when standard error is no terminal."""
    if not enabled or not STDERR.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=STDERR, transient=True) as bar:
        task = bar.add_task("reading and encoding the source")

        def watch(progress: Progress) -> None:
            told = f"searching: {progress.evaluated} nodes judged"
            if progress.incumbent is not None:
                told += f", loss {progress.incumbent.loss:.4f}"
                if progress.lower_bound is not None and progress.incumbent.loss:
                    told += f", at least {min(progress.lower_bound, progress.incumbent.loss):.4f}"
            bar.update(task, description=told)

        yield watch


def result(release: Release) -> dict[str, Any]:
    """The document of ``run --json``. For the operator: its counts are exact."""
    made, ledger, certificate = release.plan, release.ledger, release.certificate
    return {
        "strategy": certificate.strategy,
        "levels": release.levels,
        "optimal": certificate.optimal,
        "gap": certificate.gap,
        "lower_bound": certificate.lower_bound,
        "loss": certificate.loss,
        "measure": certificate.measure,
        "aggregate": certificate.aggregate,
        "records": ledger.records,
        "published": ledger.published,
        "suppressed": ledger.suppressed,
        "excluded": ledger.excluded,
        "reasons": dict(ledger.reasons),
        "models": [{"model": label, "suppressed": count} for label, count in made.suppressed_by_model],
        "classes": ledger.classes,
        "smallest_class": ledger.smallest_class,
        "lattice_size": certificate.lattice_size,
        "evaluated": certificate.evaluated,
        "snapshots": made.snapshots,
        "verdict_sources": release.verdict_sources,
        "statements": made.statements,
        "seconds": {name: round(value, 6) for name, value in release.seconds.items()},
        "output": release.output,
        "warnings": list(release.warnings),
    }


def _tell(release: Release) -> None:
    ledger, certificate = release.ledger, release.certificate
    if certificate.optimal:
        proof = "proven optimal"
    elif certificate.gap is not None:
        proof = f"within {certificate.gap:.2%} of the optimum"
    else:
        proof = "no proof of how near to the optimum"
    print(f"{certificate.measure} {certificate.loss:.6f}, {proof} ({certificate.strategy})")
    print(f"  {certificate.evaluated} of {certificate.lattice_size} nodes judged, {release.plan.statements} statements")
    print(
        f"  {ledger.records} records = {ledger.published} published + {ledger.suppressed} suppressed "
        f"+ {ledger.excluded} excluded; {ledger.classes} classes, the smallest has {ledger.smallest_class}"
    )
    for label, count in release.plan.suppressed_by_model:
        print(f"  {label}: {count} records are in classes that fail it")
    for attribute in release.plan.catalog.attributes:
        print(f"  {attribute.name}: level {release.levels[attribute.name]} of {attribute.height - 1}")
    print("  " + ", ".join(f"{name} {value:.2f} s" for name, value in release.seconds.items()))
    for kind, name in release.output.items():
        print(f"  {kind}: {name}")


def _run(policy: Policy, *, as_json: bool, script: str | None = None, certificate: str | None = None) -> int:
    with _progress(not as_json or STDERR.is_terminal) as watch, anonymize(None, policy, watch=watch) as release:
        for warning in release.warnings:
            print(f"Warning: {warning}", file=sys.stderr)
        if script:
            _write_script(Path(script), release.sql)
        if certificate:
            _write_certificate(Path(certificate), release)
        if as_json:
            print(json.dumps(result(release)))
        else:
            _tell(release)
    return 0


def _write_script(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
        return
    except OSError as error:
        reason = error.strerror
    raise InputError(f"The script {path.name!r} cannot be written ({reason}).", hint="choose another path.")


def _write_certificate(path: Path, release: Release) -> None:
    document = release.plan.proof_document
    if document is None:
        print(
            f"Warning: {release.certificate.strategy} has proven nothing, so there is no certificate.", file=sys.stderr
        )
    else:
        write_proof(document, path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="sqlanon")
def main() -> None:
    """Anonymize a table where it lies: k-anonymous, with the least loss, and with a proof of both."""


@main.command()
@click.argument("policy", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
@click.option("--strategy", help="Override search.strategy.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Override search.time_limit, in seconds.")
@click.option("--dry-run", is_flag=True, help="Search and report; write nothing.")
@click.option("--script", type=click.Path(), help="Write the replayable SQL here (for the operator).")
@click.option("--certificate", type=click.Path(), help="Write the proof here too, for `sqlanon verify`.")
def run(
    policy: str,
    as_json: bool,
    strategy: str | None,
    time_limit: float | None,
    dry_run: bool,
    script: str | None,
    certificate: str | None,
) -> None:
    """Search for the best node of POLICY, publish it and audit what was written."""

    def action() -> int:
        made = _policy(policy, strategy=strategy, time_limit=time_limit)
        chosen = replace(made, output=None) if dry_run else made
        return _run(chosen, as_json=as_json, script=script, certificate=certificate)

    _guarded(action, as_json=as_json)


def _policy(path: str, *, strategy: str | None = None, time_limit: float | None = None) -> Policy:
    made = Policy.from_file(path)
    if strategy is None and time_limit is None:
        return made
    changes = {"strategy": strategy, "time_limit": time_limit}
    document = made.to_dict()
    document["search"] = {**document.get("search", {}), **{k: v for k, v in changes.items() if v is not None}}
    return Policy.from_dict(document, base_directory=made.base_directory)


@main.command()
@click.argument("policy", type=click.Path())
@click.option("--node", help="Levels in the order of the policy, e.g. 0,3,0; the optimum when left out.")
def explain(policy: str, node: str | None) -> None:
    """Print the SQL of a node of POLICY, its release and its evaluation; writes nothing."""

    def action() -> int:
        made = replace(_policy(policy), output=None)
        print(explanation(made, node))
        return 0

    _guarded(action)


def explanation(policy: Policy, node: str | None) -> str:
    """The SQL of a node: as a person reads it, as the search judges it, and as it is published."""
    with _planned(policy, node) as made:
        statement = compiler.batch(made.question, [0], form="cross")
        levels = ", ".join(f"{name}={level}" for name, level in made.catalog.levels(made.node).items())
        return "\n\n".join(
            [
                f"-- the classes of the node {levels}\n{made.node_sql(made.catalog.levels(made.node))};",
                f"-- its verdict\n{statement.sql(dialect='duckdb', identify=True, pretty=True)};",
                f"-- its release\n{made.release_sql};",
            ]
        )


@contextmanager
def _planned(policy: Policy, node: str | None) -> Iterator[Plan]:
    """A plan of the optimum, or one that stands at ``node`` without a search."""
    if node is not None:
        try:
            levels = [int(part) for part in node.split(",")] if node else []
        except ValueError:
            levels = None
        names = [c.name for c in policy.quasi_identifiers]
        if levels is None or len(levels) != len(names):
            raise InputError(
                f"--node takes {len(names)} whole numbers.", hint=f"one level each for {', '.join(names)}, with commas."
            )
        fixed = dict(zip(names, levels, strict=True))
        columns = tuple(
            replace(c, min_level=fixed[c.name], max_level=fixed[c.name]) if c.name in fixed else c
            for c in policy.columns
        )
        loose = replace(
            policy, columns=columns, suppression_count=None, suppression_limit=type(policy.suppression_limit)(1)
        )
        with plan(None, loose, watch=None) as made:
            yield made
        return
    with plan(None, policy) as made:
        yield made


@main.command(name="verify")
@click.argument("certificate", type=click.Path())
@click.argument("policy", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
def verify_command(certificate: str, policy: str, as_json: bool) -> None:
    """Run the proof in CERTIFICATE again for POLICY, with plain SQL: exit 0 holds, 1 does not, 2 cannot say."""

    def action() -> int:
        made = _policy(policy)
        with _judging(not as_json) as watch:
            found = verify(certificate, made, watch=watch)
        if as_json:
            print(json.dumps({"holds": found.holds, **asdict(found)}))
        else:
            _tell_verification(found)
        return 0 if found.holds else 1

    _guarded(action, as_json=as_json)


@contextmanager
def _judging(enabled: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while nodes are judged again; nothing when standard error is no terminal."""
    if not enabled or not STDERR.is_terminal:
        yield None
        return
    with Bar(TextColumn("judging nodes"), BarColumn(), MofNCompleteColumn(), console=STDERR, transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell_verification(found: Verification) -> None:
    for remark in found.remarks:
        print(f"Warning: {remark}", file=sys.stderr)
    told = f"{found.boxes} boxes, {found.nodes} nodes judged again"
    if not found.holds:
        print(f"The certificate does not hold ({told}):")
        for fault in found.faults:
            print(f"  {fault}")
        return
    loss, lower = found.loss or 0.0, found.lower_bound or 0.0
    proof = "is optimal" if found.optimal else f"is within {(loss - lower) / loss if loss else 0.0:.2%} of the optimum"
    print(f"The certificate holds ({told}): the chosen node loses {loss:.6f} and {proof}.")


@main.command()
@click.argument("source", type=click.Path())
@click.argument("table", required=False)
@click.option("--qi", required=True, help="Quasi-identifiers, with commas.")
@click.option("--k", type=click.IntRange(min=1), help="Records that every class must hold.")
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLUMN:TYPE:KEY=VALUE,…",
    help="A model of a column, e.g. x:entropy_l_diversity:l=3.",
)
@click.option("--delta-presence", metavar="min=…,max=…", help="Share of the reference's records, with the same --qi.")
@click.option("--reference", type=click.Path(), help="What t-closeness and δ-presence are judged against.")
@click.option("--reference-table", help="Its table, if it is a database.")
@click.option("--delimiter", default=None, help="Of a CSV source or reference.")
@click.option("--json", "as_json", is_flag=True)
def check(
    source: str,
    table: str | None,
    qi: str,
    k: int | None,
    sensitive: Sequence[str],
    delta_presence: str | None,
    reference: str | None,
    reference_table: str | None,
    delimiter: str | None,
    as_json: bool,
) -> None:
    """Test whether a relation, as it stands, meets privacy models on --qi: exit 0 holds, 1 does not, 2 cannot say."""

    def action() -> int:
        asked = [model_named(text) for text in sensitive]
        if delta_presence is not None:
            asked.append(model_named(f"delta_presence:{delta_presence}"))
        if k is None and not asked:
            raise InputError("There is nothing to check.", hint="give --k, --sensitive or --delta-presence.")
        columns = [part.strip() for part in qi.split(",") if part.strip()]
        name = table or _only_table(source)
        csv = {"delimiter": delimiter} if delimiter else {}
        with open_source(source, name, csv=csv) as opened:
            hierarchies, levels = _hierarchies(opened.engine, asked)
            other = reference_relation(opened, reference, reference_table, csv) if reference else None
            models: list[PrivacyModel] = [KAnonymity(k)] if k is not None else []
            found = check_relation(
                opened.engine,
                opened.relation,
                quasi_identifiers=columns,
                models=[*models, *(made_model(_without_hierarchy(model), column) for column, model in asked)],
                reference=other,
                hierarchies=hierarchies,
                levels=levels,
            )
        if as_json:
            print(json.dumps(_checked(found, columns, k)))
        else:
            print(f"{found.records} records in {found.classes} classes, the smallest has {found.smallest_class}.")
            for item in found.models:
                failing = f": {item.failing_classes} classes ({item.failing_records} records) fail"
                print(f"  {item.model} {'holds' if item.holds else 'does not hold' + failing}")
        return 0 if found.holds else 1

    _guarded(action, as_json=as_json)


def _checked(found: CheckResult, columns: Sequence[str], k: int | None) -> dict[str, Any]:
    """The document of ``check --json``; ``failing_classes`` and ``failing_records`` are those of --k."""
    size = found.models[0] if k is not None else None
    return {
        "holds": found.holds,
        "k": k,
        "quasi_identifiers": list(columns),
        "records": found.records,
        "classes": found.classes,
        "failing_classes": size.failing_classes if size else 0,
        "failing_records": size.failing_records if size else 0,
        "smallest_class": found.smallest_class,
        "models": [
            {
                "model": item.model,
                "holds": item.holds,
                "failing_classes": item.failing_classes,
                "failing_records": item.failing_records,
            }
            for item in found.models
        ],
    }


def _hierarchies(
    engine: DuckDBEngine, asked: Sequence[tuple[str | None, Model]]
) -> tuple[dict[str, exp.Expr], dict[str, int]]:
    """The hierarchies that models name, as relations of value, level and ancestor, and their levels below the root."""
    relations: dict[str, exp.Expr] = {}
    levels: dict[str, int] = {}
    for column, model in asked:
        if column is None or "hierarchy" not in model.parameters:
            continue
        checked = check_rows(read_rows(Path(model.parameters["hierarchy"]), ";", None, "utf-8"), column)
        levels[column] = len(checked.rows[0]) - 1
        relations[column] = list_ancestors(engine, len(relations), checked.rows)
    return relations, levels


def _without_hierarchy(model: Model) -> Model:
    """The model's own parameters."""
    return Model(model.type, {name: value for name, value in model.parameters.items() if name != "hierarchy"})


def _only_table(source: str) -> str | None:
    """A release file of ours holds one table, ``release``; any other database needs the TABLE argument."""
    return "release" if Path(source).suffix.lower() == ".duckdb" else None


@main.group()
def hierarchy() -> None:
    """Work with hierarchy files."""


@hierarchy.command("check")
@click.argument("file", type=click.Path())
@click.option("--delimiter", default=";", show_default=True)
@click.option("--null", "null_text", default=None, help="The text that stands for NULL.")
@click.option("--json", "as_json", is_flag=True)
def hierarchy_check(file: str, delimiter: str, null_text: str | None, as_json: bool) -> None:
    """Check an ARX-style hierarchy FILE: a tree, no missing levels, no contradictions."""

    def action() -> int:
        rows = read_rows(Path(file), delimiter, null_text, "utf-8")
        checked = check_rows(rows, Path(file).name)
        widths = [len(set(level)) for level in zip(*checked.rows, strict=True)]
        if as_json:
            print(json.dumps({"height": len(widths), "values": widths, "collapsed": checked.collapsed}))
        else:
            print(f"{Path(file).name}: a tree of {len(widths)} levels with {' > '.join(map(str, widths))} values.")
            if checked.collapsed:
                print(f"{checked.collapsed} identical rows stand more than once; they count once.")
        return 0

    _guarded(action, as_json=as_json)


@main.command()
@click.argument("directory", type=click.Path(), default="sqlanon-demo")
@click.option("--records", type=click.IntRange(min=1_000), default=50_000, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def demo(directory: str, records: int, as_json: bool) -> None:
    """Make a hospital-discharge database with hierarchies and a policy in DIRECTORY, and run it."""

    def action() -> int:
        policy_path = generate(Path(directory), records=records)
        made = Policy.from_file(policy_path)
        code = _run(made, as_json=as_json)
        if not as_json:
            released = Path(made.output.target) if made.output else Path(directory)
            columns = ",".join(c.name for c in made.quasi_identifiers)
            print(f"\nThe source:   {policy_path.parent / 'hospital.duckdb'} (table {made.table})")
            print(f"The policy:   {policy_path}")
            print(f"The release:  {released}")
            print(f"Its manifest: {released}{MANIFEST}")
            print(f"Its proof:    {released}{CERTIFICATE}")
            print("\nLook at it:   ", end="")
            print(f'python -c "import duckdb; print(duckdb.sql(\\"FROM \'{released}\' LIMIT 10\\"))"')
            print(f"Check it:     sqlanon check {released} --qi {columns} --k {made.privacy[0].parameters['k']}")
            print(f"Prove it:     sqlanon verify {released}{CERTIFICATE} {policy_path}")
        return code

    _guarded(action, as_json=as_json)


if __name__ == "__main__":
    main()
