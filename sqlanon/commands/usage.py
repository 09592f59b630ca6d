"""What each command takes: its arguments, its options and its help, in the order of the documentation.

What a command does (``execute``) stands in the module of its name (``GuardedCommand``), which is loaded when it is
carried out: whoever asks for the version or for help waits for no database driver.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from sqlanon.commands.guarded import GuardedCommand
from sqlanon.commands.usage_groups import (
    AUDIENCES,
    audience_option,
    certificate_option,
    column_names,
    counts,
    csv_option,
    foreign_counts_options,
    hierarchy,
    json_option,
    ledger,
    like_options,
    mcp,
    no_header_option,
    on_interrupt_option,
    optional_qi_option,
    policy,
    qi_option,
    report_option,
    studio,
    table_argument,
)
from sqlanon.commands.usage_shell import (
    MODELS,
    STRATEGIES,
    clean,
    complete_policies,
    completing,
    completion,
    help_command,
    schema,
    versions,
)

DIALECTS = ("snowflake", "bigquery", "databricks", "clickhouse", "trino", "postgres", "spark", "sqlite", "duckdb")
"""Of ``explain``."""
NULLS = ("extended", "basic")
"""Of ``risk``, and of the key ``nulls`` of a policy."""
ADAPTERS = ("duckdb", "postgres")
"""Of ``dbt``."""
STREAMED = ("csv", "parquet", "arrow")
"""Of ``run --to -``."""
BESIDE = "*"
"""Of ``check --manifest`` without a file. A test compares all these words with the rooms that know their meaning."""

policy_argument = click.argument("policy", type=click.Path(), shell_complete=complete_policies)
policies_argument = click.argument(
    "policies", metavar="POLICY...", nargs=-1, required=True, type=click.Path(), shell_complete=complete_policies
)
manifest_option = click.option(
    "--manifest",
    is_flag=False,
    flag_value=BESIDE,
    metavar="[FILE]",
    help="Check that release, manifest and certificate belong together; the manifest is FILE, or beside the release.",
)


@click.command(cls=GuardedCommand)
@click.argument("directory", type=click.Path(), default="sqlanon-demo")
@click.option(
    "--records", type=click.IntRange(min=1_000), default=50_000, show_default=True, help="How many records to invent."
)
@json_option
def demo() -> None:
    """Make a hospital-discharge database with hierarchies and a policy in DIRECTORY, and run it."""


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@table_argument
@csv_option
@no_header_option
@click.option("--preset", metavar="NAME|none", help="The schema (omop, fhir_patient); none: judge each column.")
@click.option("--write", type=click.Path(), help="Draft a policy here (.yaml), with the reasons as comments.")
@click.option("--replace", "replace_it", is_flag=True, help="The draft may be there already.")
@click.option("--search/--no-search", default=True, show_default=True, help="Search what a draft could release.")
@click.option(
    "--proposal", metavar="NAME", help="Which of the releases that were searched the draft makes.  [default: the first]"
)
@json_option
def profile() -> None:
    """Show what SOURCE holds: what its columns look like, which of them single people out, and the role each may have.

    Everything is counted in the database, and no value is shown. For the operator: the counts are exact. With --write,
    a draft of a policy that `sqlanon run` carries out as it stands; what a person must decide is marked in it.
    """


@click.command(cls=GuardedCommand)
@policies_argument
@json_option
@click.option("--strategy", shell_complete=completing(*STRATEGIES), help="Override search.strategy.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Override search.time_limit, in seconds.")
@on_interrupt_option
@like_options
@click.option("--dry-run", is_flag=True, help="Search and report; write nothing.")
@click.option("--to", type=click.Path(), metavar="FILE|-", help="Publish to this file; -: to standard output.")
@click.option("--format", "form", type=click.Choice(STREAMED), help="With --to -; csv by default.")
@click.option("--fail-fast", is_flag=True, help="Of several policies, begin with none after one that failed.")
@click.option("--script", type=click.Path(), help="Write the replayable SQL here (for the operator).")
@certificate_option
@report_option
@click.option("--diff", type=click.Path(), metavar="MANIFEST", help="Say what changed since the release of MANIFEST.")
@click.option("--openlineage", type=click.Path(), help="Write the run as OpenLineage events here (for the operator).")
@click.option("--metrics", type=click.Path(), help="Append a line of JSON for each phase here (for the operator).")
@audience_option
def run() -> None:
    """Find the best node of POLICY, or the rules of its transformation; publish it and audit what was written.

    Several policies are run one after the other, each as if it were alone; the exit code is the highest. A policy - is
    read from standard input.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@click.option(
    "--records",
    type=click.IntRange(min=4_000),
    default=100_000,
    show_default=True,
    help="Records of the larger sample; the smaller one has a quarter.",
)
@json_option
def estimate() -> None:
    """Say what a run of POLICY will take: seconds of each step, memory and temporary files, from runs over two samples.

    An order of magnitude: of each figure the least and the most that the samples let expect. Publishes nothing.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@click.option("--k", metavar="K,…", help="The values of k; by default 2,3,5,10,20,50.")
@click.option("--limit", metavar="SHARE,…", help="Limits on suppression; by default 0,0.01,0.05,0.1.")
@json_option
@click.option("--chart", type=click.Path(), help="Draw the frontier here, .svg or .html (for the operator).")
@click.option("--strategy", shell_complete=completing(*STRATEGIES), help="Override search.strategy.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Override search.time_limit, in seconds a point.")
def frontier() -> None:
    """Find the optimum of POLICY for every k and limit of a grid, risk against utility; publishes nothing.

    k takes the place of k in the policy's k_anonymity, the limit that of suppression_limit. For the operator: the
    counts are exact.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@json_option
@on_interrupt_option
@click.option("--dry-run", is_flag=True, help="Say whether a refresh is due; write nothing.")
@click.option("--force", is_flag=True, help="Plan anew even if nothing demands it.")
@click.option("--renew", is_flag=True, help="Plan a view with an epoch anew, and keep what it promised.")
def refresh() -> None:
    """Replace the live view of POLICY by a new plan when it loses more records than the policy allows, is not there, or
    was made with another policy or hierarchy. Without a solution the old view stays. One with an epoch is brought to
    its next state if the epoch has ended, and planned anew with --renew or --force alone."""


@click.command(cls=GuardedCommand)
@policy_argument
@click.option("--to", "folder", required=True, type=click.Path(), help="The folder, which must not be there yet.")
@click.option(
    "--audience",
    type=click.Choice(AUDIENCES),
    default="recipient",
    show_default=True,
    help="recipient: counts below k are coarsened; operator: exact counts, internal.",
)
@json_option
def evidence() -> None:
    """Run POLICY and write an evidence pack of its release: manifest, hashes, proof, attacks, limits, and annexes for
    those who review it. A file release that is there already is not published again, but must belong to POLICY.

    It supports a qualified review; it is neither a determination nor legal advice.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@click.option("--node", help="Levels in the order of the policy, e.g. 0,3,0; the optimum when left out.")
@click.option(
    "--dialect",
    type=click.Choice(DIALECTS),
    help="Print the complete SQL of the policy in this dialect.",
)
@click.option("--source-table", help="The name of the source in the warehouse; by default as the policy names it.")
@click.option(
    "--lookups",
    type=click.Path(),
    help="A folder for hierarchies of more than 500 rows, as CSV files that the script loads.",
)
def explain() -> None:
    """Print the SQL of a node of POLICY, its evaluation and its release (or of the rules of its transformation); writes
    nothing.

    With --dialect: the complete SQL of the policy as one script for a warehouse, planned on the policy's own source;
    with --lookups, the files beside it. Of a document of counts: the statement that counts, before any suppression.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@click.option("--to", "folder", required=True, type=click.Path(), help="The folder of the dbt project.")
@click.option("--name", help="The name of the model; by default that of the table, with _released.")
@click.option(
    "--source", help="The records in the dbt project: \"source('clinic', 'patients')\" or \"ref('patients')\"."
)
@click.option("--node", help="Levels in the order of the policy, e.g. 0,3,0; the optimum when left out.")
@click.option("--dialect", type=click.Choice(ADAPTERS), help="Whose SQL to write; by default the source's.")
@click.option(
    "--materialized",
    type=click.Choice(["table", "view"]),
    default="table",
    show_default=True,
    help="What dbt makes of the model.",
)
@click.option("--with-values", is_flag=True, help="List the values that occur in seeds, where a hierarchy is computed.")
@click.option("--force", is_flag=True, help="Replace files that this command did not write.")
def dbt() -> None:
    """Plan POLICY and write its release as a dbt model with seeds and tests; publishes nothing.

    The model counts its classes whenever dbt builds it, and leaves out what fails.
    """


@click.command(cls=GuardedCommand, work="check_counts")
@click.argument("source", type=click.Path())
@table_argument
@optional_qi_option
@click.option("--k", type=click.IntRange(min=1), help="Records (or entities) that every class must hold.")
@click.option("--entity", help="The column with the entity of each record: count distinct entities instead of records.")
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLUMN:TYPE:KEY=VALUE,…",
    help="A model of a column, e.g. x:entropy_l_diversity:l=3.",
)
@click.option(
    "--bounded-knowledge",
    metavar="k=…,at_most=…",
    help="At least k records agree in every set of at most so many of the --qi.",
)
@click.option(
    "--model",
    multiple=True,
    shell_complete=completing(*(f"{name}:" for name in MODELS)),
    metavar="TYPE:KEY=VALUE,…",
    help="A model without a column, e.g. average_risk:threshold=0.05.",
)
@click.option("--delta-presence", metavar="min=…,max=…", help="Share of the reference's records, with the same --qi.")
@click.option("--reference", type=click.Path(), help="What models of shares (t-closeness, …) are judged against.")
@click.option("--reference-table", help="Its table, if it is a database.")
@csv_option
@manifest_option
@click.option("--junit", type=click.Path(), help="Write the outcome here as JUnit XML, a test case for each model.")
@click.option("--sarif", type=click.Path(), help="Write the outcome here as SARIF 2.1.0, for code scanning.")
@click.option("--summary", type=click.Path(), metavar="FILE|-", help="Add the outcome here as Markdown; -: print it.")
@foreign_counts_options
@json_option
def check() -> None:
    """Test whether a relation, as it stands, meets privacy models on --qi: exit 0 holds, 1 does not, 2 cannot say.

    With --manifest, test whether a release and its files belong together; with --counts, audit a table of counts.
    """


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@table_argument
@qi_option
@click.option("--k", type=click.IntRange(min=1), help="Count the records that only wildcards would call safe at k.")
@csv_option
@json_option
def nulls() -> None:
    """Audit the NULLs of a relation: class sizes when they are wildcards, and the bias of leaving them out.

    The first part shows what an attacker gains who takes a NULL for a wildcard (maybe match, right maybe match). It is
    never used to justify a release: with NULLs as wildcards, records look safe that an attacker singles out who knows
    of a NULL. The second part shows what the basic match, which excludes the records with a NULL in --qi, does to the
    distribution of every column. Neither judges anything: exit 0 when they could be computed, 2 when not. For the
    operator: the counts are exact.
    """


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path(), required=False)
@table_argument
@optional_qi_option
@click.option("--k", type=click.IntRange(min=1), help="Classes of fewer are small: the policy's k, or 5, by default.")
@click.option("--nulls", type=click.Choice(NULLS), help="How NULL is matched; by default it is a value (extended).")
@click.option("--entity", help="The column with the entity of each record: count distinct entities instead of records.")
@click.option("--weights", metavar="COLUMN", help="How many people each record stands for, of a survey.")
@click.option("--population", type=click.Path(), help="A table of the population, with the same --qi.")
@click.option("--population-table", help="Its table, if it is a database; alone, a table of the source's database.")
@click.option("--population-size", type=click.IntRange(min=1), help="N, to estimate who is unique in the population.")
@click.option("--compare", type=click.Path(), metavar="RELEASE", help="A release of the records: before and after.")
@click.option("--compare-table", help="Its table, if it is a database.")
@click.option(
    "--policy",
    type=click.Path(),
    shell_complete=complete_policies,
    help="Take the source, --qi, --nulls and --entity from this policy.",
)
@csv_option
@click.option(
    "--column-sets/--no-column-sets", default=True, help="Look at which sets of columns single out (the default)."
)
@json_option
def risk() -> None:
    """Measure what an attacker finds in a relation as it stands, each figure with a sentence; with --compare, before
    and after. A report, no verdict: exit 0 when it could be computed, 2 when not. For the operator: the counts are
    exact.
    """


@click.command(cls=GuardedCommand)
@policy_argument
@click.option("--target", metavar="COLUMN", help="Also measure how well this column is predicted by the others.")
@click.option(
    "--queries", type=click.IntRange(0, 100_000), default=1000, show_default=True, help="Random COUNT queries."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The seed that they are drawn with."
)
@click.option(
    "--ml", is_flag=True, help="Predict by scikit-learn too (sqlanon[ml]): codes of records enter this process."
)
@json_option
def utility() -> None:
    """Measure what the release of POLICY still says of its source; plans, and writes nothing.

    Per column: the loss, the levels, how far the distribution moves. Besides: how columns go together, the error of
    random COUNT queries, and with --target a prediction. For the operator: the counts are exact.
    """


@click.command(cls=GuardedCommand)
@click.argument("certificate", type=click.Path())
@policy_argument
@click.option("--proof", type=click.Path(), help="The operator's proof that a recipient's certificate commits to.")
@json_option
def verify() -> None:
    """Run the proof in CERTIFICATE again for POLICY, with plain SQL: exit 0 holds, 1 does not, 2 cannot say.

    A recipient's certificate holds no proof: it is searched for again, or given with --proof. That of tables of counts
    is verified for their document, in the place of POLICY.
    """


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
@click.option("--inline", is_flag=True, help="Put hierarchies that are CSV files into the target.")
@click.option("--replace", is_flag=True, help="The target may be there already.")
@click.option("--data", is_flag=True, help="Write the records of an ARX project beside the target, too.")
@json_option
def convert() -> None:
    """Write the policy or ANON definition SOURCE as TARGET; the endings (.xml, .yaml, .json) say what they are.

    SOURCE may be an ARX project (.deid): its hierarchies are written beside TARGET. What a policy cannot say, or says
    otherwise, is listed: exit 1 where it lacks a privacy model of the project.
    """


@click.command(cls=GuardedCommand)
@click.argument("release", type=click.Path())
@table_argument
@click.option(
    "--policy",
    type=click.Path(),
    shell_complete=complete_policies,
    help="The policy that the release was published by; without one, --source and --qi.",
)
@click.option("--source", type=click.Path(), help="The records that a file without a policy was made of.")
@click.option("--source-table", help="Its table, if it is a database.")
@optional_qi_option
@click.option(
    "--sensitive",
    multiple=True,
    callback=column_names,
    metavar="COLUMN,…",
    help="Columns to guess, without a policy; by default all others that file and source share.",
)
@click.option(
    "--also",
    nargs=2,
    multiple=True,
    type=click.Path(),
    metavar="RELEASE POLICY",
    help="Another release of the same source that the attacker has as well, with its policy; may be repeated.",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    help="Draw this share of the source (0.5) as a control group, publish POLICY from the rest and attack that; 0: do "
    "not. Without a policy: a file with records that RELEASE was not made of.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="The seed of what is drawn."
)
@click.option(
    "--fail-over",
    type=float,
    metavar="RATE",
    help="Exit 1 if an attack's excess over its control (without one, its rate) is above this.",
)
@report_option
@json_option
def attack() -> None:
    """Attack RELEASE beside its source and count what is found: singling out, linkability, inference, membership.

    With --source and --qi instead of --policy any file is attacked: synthetic records, or a release of another tool.

    Everything is counted in the database, against the source as the truth; no value is shown. A report, no verdict:
    exit 0 when it could be computed, 2 when not. For the operator: the counts are exact.
    """


TASKS: Mapping[str, Mapping[click.Command, str]] = {
    "Start": {
        demo: "Make an invented hospital with a policy, and run it.",
        profile: "Show what a table holds, and draft a policy for it.",
        help_command: "Explain a key of a policy, a model or a command.",
        schema: "Print the JSON Schema of policies, for editors.",
    },
    "Publish": {
        run: "Search, publish and audit the release of a policy.",
        estimate: "Say beforehand what a run will take.",
        counts: "Publish tables of counts, small cells suppressed.",
        refresh: "Bring a live view up to date.",
        explain: "Print the SQL of a policy, also for warehouses.",
        dbt: "Write a release as a dbt model with seeds and tests.",
    },
    "Judge": {
        risk: "Measure how far a table singles people out.",
        check: "Test whether a table meets privacy models.",
        nulls: "Show how the NULLs of a table matter.",
        attack: "Attack a release beside its source, and count.",
        utility: "Measure what a release still says of its source.",
        frontier: "Find the best release for every k and limit of a grid.",
    },
    "Prove": {
        verify: "Run the proof in a certificate again.",
        evidence: "Write an evidence pack for those who review a release.",
        ledger: "Show and check what was released to whom.",
    },
    "Work with": {
        policy: "Find the faults of policies.",
        hierarchy: "Check hierarchy files.",
        convert: "Convert policies, ANON definitions and ARX projects.",
        clean: "Remove what killed runs left behind.",
        mcp: "Answer agents about policies and their sources.",
        studio: "Decide a policy on a page, and see what each choice costs.",
        completion: "Complete commands in bash, zsh and fish.",
        versions: "Print the versions of sqlanon, databases and drivers.",
    },
}
"""The commands by task, each with the sentence that `sqlanon --help` has of it."""
