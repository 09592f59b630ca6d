"""sqlanon: anonymize a table inside its database, with a proof of optimality and an account of every record."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sqlanon.version import VERSION as __version__  # noqa: F401 (in __all__)

_NAMES = {
    "sqlanon.core.anonymizer": "anonymize plan recode",
    "sqlanon.assess.attack.attacking": "attack attack_file",
    "sqlanon.assess.attack.facts": "AttackReport Control Finding NotApplicable",
    "sqlanon.core.audit.check": "CheckResult ModelResult",
    "sqlanon.errors": (
        "AuditError EngineError HierarchyError IdentifyingColumnError InputError Interrupted "
        "NoSolutionError NothingNewError PolicyError RepeatError SearchStoppedError SourceChangedError SourceError "
        "SqlanonError TargetError UncoveredValuesError UnsupportedError"
    ),
    "sqlanon.report.evidence.pack": "EvidencePack evidence",
    "sqlanon.assess.frontier.verb": "frontier",
    "sqlanon.parameters": "Parameter",
    "sqlanon.assess.frontier.points": "Frontier FrontierPoint",
    "sqlanon.core.plan.full_domain": "Plan Solution",
    "sqlanon.recoding.local.recoded_plan": "RecodedPlan",
    "sqlanon.core.plan.release": "Release",
    "sqlanon.core.policy": (
        "CohortsSpec Column EngineOptions Join Key LedgerSpec Like LocalRecoding Model Output Patterns Periods Policy "
        "Publish Quality SearchOptions"
    ),
    "sqlanon.core.policy.extensions": "Extensions",
    "sqlanon.core.hierarchies.specs": (
        "Ages Codes Dates ExtensionHierarchy FileHierarchy FrequentValues Groups Intervals Levels Prefix Redact "
        "Suppress TableHierarchy Zip3"
    ),
    "sqlanon.core.policy.privacy": (
        "AverageRisk BetaLikeness BoundedKnowledge DeltaDisclosure DeltaPresence DistinctLDiversity "
        "EntropyLDiversity KAnonymity KMap PopulationUniqueness ProfileK RecursiveLDiversity SampleUniqueness "
        "TCloseness"
    ),
    "sqlanon.assess.profiling.facts": "ColumnProfile Profile",
    "sqlanon.assess.profiling.profile": "profile",
    "sqlanon.live.refreshing": "Refresh refresh",
    "sqlanon.assess.relations.null_bias": "NullBias",
    "sqlanon.assess.relations.nulls": "NullAudit",
    "sqlanon.assess.relations.verbs": "check risk",
    "sqlanon.assess.utility.facts": "Utility",
    "sqlanon.report.files": "write_report",
    "sqlanon.report.summarizing": "RunSummary summarize",
    "sqlanon.studio.verb": "Studio studio",
    "sqlanon.assess.risk.facts": "Figure Risk RiskComparison",
    "sqlanon.tables.anonymizing": "anonymize_tables",
    "sqlanon.tables.policy": "TablesPolicy",
    "sqlanon.tables.release": "TablesRelease",
    "sqlanon.core.verification": "Verification verify",
    "sqlanon.counts.document": "CountsPolicy",
    "sqlanon.counts.foreign_audit": "CountsCheck check_counts",
    "sqlanon.counts.release": "CountsRelease",
    "sqlanon.counts.verb": "counts",
}
"""The public names by the module that holds them, which is loaded when one of them is asked for."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(["__version__", *_HOMES])  # noqa: PLE0605 (type checkers read __init__.pyi)


def __getattr__(name: str) -> Any:
    """Load a public name, or a folder of the package, when it is asked for, and keep it."""
    home = f"{__name__}.{name}"
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name.startswith("_") or find_spec(home) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        value = import_module(home)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
