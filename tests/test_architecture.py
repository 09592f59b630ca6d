"""The written reading order holds, duckdb has one home, and the public names are the ones that are promised."""

from __future__ import annotations

import ast
from pathlib import Path

import sqlanon

PACKAGE = Path(sqlanon.__file__).parent
ORDER = (
    # these hold a docstring only
    "hierarchy", "compiler", "engines", "audit", "report", "commands", "interop", "patterns", "recoding",
    "dbt",
    # from here on, in reading order
    "errors", "foreign", "parameters", "paths", "names", "data_types", "sqlfiles", "binding",
    "formats.base", "formats.checked",
    "formats.safe_xml", "formats.xml_document", "formats.xml", "formats", "hierarchy.specs", "hierarchy.readers",
    "hierarchy.builders", "lattice", "catalog", "models.base", "models.checked", "models.k_anonymity",
    "models.distinct_l_diversity", "models.entropy_l_diversity", "models.recursive_l_diversity", "models.t_closeness",
    "models.delta_presence", "models", "measures.base", "measures.checked", "measures.loss",
    "measures.non_uniform_entropy", "measures.precision", "measures.discernibility", "measures.average_class_size",
    "measures.weighted_information_loss", "measures.height", "measures", "search.base", "search.checked",
    "search.antichain", "search.branching", "search.box", "search.exhaustive", "search.traversal",
    "search.best_first", "search.flash", "search.flash_two_phase", "search.ola", "search.incognito", "search.datafly",
    "search.igreedy", "search.anon", "search", "extensions", "patterns.order", "policy.faults",
    "policy.transformation", "policy", "policy.checks", "policy.writing", "policy.hierarchies", "policy.sources",
    "interop.definition_opening", "interop.definition_schema",
    "interop.definition_values", "interop.definition_words", "interop.tree_reading", "interop.definition_reading",
    "interop.tree_writing", "interop.definition_writing", "interop.relocation", "policy.parsing", "proof",
    "compiler.trees", "compiler.encode", "compiler.entities",
    "compiler.distinct_entities", "compiler.evaluate", "compiler.release", "compiler.live_models",
    "compiler.live", "compiler.readable",
    "compiler.sensitive", "compiler.subset", "compiler.class_sizes", "compiler.patterns", "compiler.pattern_quality",
    "compiler.recoding", "compiler.first_fit", "compiler.recoded", "journal", "engines.texts", "engines.base",
    "engines.described", "engines.relation_names", "engines.duckdb",
    "engines.postgres_dialect", "engines.postgres_catalog", "engines.postgres_errors",
    "engines.postgres_files", "engines.postgres_values",
    "engines.postgres",
    "engines.sqlite_dialect", "engines.sqlite_errors", "engines.sqlite_values", "engines.sqlite",
    "dialects.base", "dialects.rules", "dialects.rendering", "dialects.bigquery", "dialects.clickhouse",
    "dialects.databricks", "dialects.duckdb", "dialects.postgres", "dialects.snowflake", "dialects.sqlite",
    "dialects.trino", "dialects",
    "engines.spark_dialect", "engines.spark_errors", "engines.spark_values", "engines.spark_facts",
    "engines.spark_held", "engines.spark_places", "engines.spark",
    "patterns.enumeration", "patterns.pattern", "patterns.bounds",
    "patterns.greedy", "patterns.quality", "patterns.pairs", "patterns.shares", "patterns.solver", "patterns.exact",
    "patterns.exactly",
    "files", "lookups", "subset", "encoding", "live_lookups", "carrying", "snapshots", "evaluator", "certificate",
    "driver",
    "recoding.rules", "recoding.kept", "recoding.state", "recoding.insertion", "recoding.sequence", "accounting",
    "audit.trees", "audit.models",
    "references", "audit.release", "staging", "audit.check", "audit.null_patterns", "audit.maybe", "audit.chance",
    "audit.nulls", "audit.null_bias", "spark_source", "sources", "policy_source", "targets",
    "target_folders", "written_rows", "publication",
    "report.manifest", "report.proof_file", "report.script", "report.script_source", "report.dialect_script",
    "formulation", "version", "session", "live_facts", "live", "release",
    "planned", "full_domain", "warehouse_script",
    "recoding.plan", "recoding.by_patterns", "recoding.by_nodes", "anonymizer", "refreshing",
    "report.wording",
    "report.settings", "report.summary", "report.charts", "report.text", "report.html", "report.files",
    "verification", "testing", "demo", "interop.convert", "commands.common", "commands.run", "commands.refresh",
    "commands.explain", "dbt.template", "dbt.seeds", "dbt.rules", "dbt.statements", "dbt.release", "dbt.project",
    "commands.dbt",
    "commands.check", "commands.nulls", "commands.verify", "commands.hierarchy", "commands.convert", "commands.demo",
    "cli",
)  # fmt: skip
LAZY = {
    ("policy", "policy.checks"),
    ("policy", "policy.parsing"),
    ("policy", "policy.writing"),
    ("release", "planned"),
}
"""A policy reads and writes itself through these, imported where they are called; a release knows its plan's type."""


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_every_module_has_its_place_in_the_reading_order() -> None:
    assert set(modules()) == set(ORDER)


def test_a_module_imports_only_from_modules_before_it() -> None:
    place = {name: number for number, name in enumerate(ORDER)}
    for name, path in modules().items():
        for imported in imports(path):
            target = imported.removeprefix("sqlanon.")
            if imported.startswith("sqlanon.") and target in place and target != name and (name, target) not in LAZY:
                assert place[target] < place[name], f"{name} imports {target}"


def test_duckdb_is_imported_in_its_engine_only() -> None:
    for name, path in modules().items():
        if name != "engines.duckdb":
            assert "duckdb" not in imports(path), name


def test_exported_names_exist_and_are_sorted() -> None:
    assert sorted(sqlanon.__all__) == list(sqlanon.__all__)
    assert all(hasattr(sqlanon, name) for name in sqlanon.__all__)


def test_the_pure_core_knows_no_engine() -> None:
    for name, path in modules().items():
        if name.startswith(("search", "measures", "models", "lattice", "catalog", "compiler", "hierarchy", "policy")):
            assert not any("engines" in item for item in imports(path)), name
