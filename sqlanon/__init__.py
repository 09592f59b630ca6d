"""sqlanon: anonymize a table inside its database, with a proof of optimality and an account of every record."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlanon.version import VERSION as __version__

if TYPE_CHECKING:
    from sqlanon.assess.attack.attacking import attack, attack_file
    from sqlanon.assess.attack.facts import AttackReport, Control, Finding, NotApplicable
    from sqlanon.assess.frontier.points import Frontier, FrontierPoint
    from sqlanon.assess.frontier.verb import frontier
    from sqlanon.assess.profiling.facts import ColumnProfile, Profile
    from sqlanon.assess.profiling.profile import profile
    from sqlanon.assess.relations.null_bias import NullBias
    from sqlanon.assess.relations.nulls import NullAudit
    from sqlanon.assess.relations.verbs import check, risk
    from sqlanon.assess.risk.facts import Figure, Risk, RiskComparison
    from sqlanon.assess.utility.facts import Utility
    from sqlanon.core.anonymizer import anonymize, plan, recode
    from sqlanon.core.audit.check import CheckResult, ModelResult
    from sqlanon.core.hierarchies.specs import (
        Ages,
        Codes,
        Dates,
        ExtensionHierarchy,
        FileHierarchy,
        FrequentValues,
        Groups,
        Intervals,
        Levels,
        Prefix,
        Redact,
        Suppress,
        TableHierarchy,
        Zip3,
    )
    from sqlanon.core.plan.full_domain import Plan, Solution
    from sqlanon.core.plan.release import Release
    from sqlanon.core.policy import (
        CohortsSpec,
        Column,
        EngineOptions,
        Join,
        Key,
        LedgerSpec,
        Like,
        LocalRecoding,
        Model,
        Output,
        Patterns,
        Periods,
        Policy,
        Publish,
        Quality,
        SearchOptions,
    )
    from sqlanon.core.policy.extensions import Extensions
    from sqlanon.core.policy.privacy import (
        AverageRisk,
        BetaLikeness,
        BoundedKnowledge,
        DeltaDisclosure,
        DeltaPresence,
        DistinctLDiversity,
        EntropyLDiversity,
        KAnonymity,
        KMap,
        PopulationUniqueness,
        ProfileK,
        RecursiveLDiversity,
        SampleUniqueness,
        TCloseness,
    )
    from sqlanon.core.verification import Verification, verify
    from sqlanon.counts.document import CountsPolicy
    from sqlanon.counts.foreign_audit import CountsCheck, check_counts
    from sqlanon.counts.release import CountsRelease
    from sqlanon.counts.verb import counts
    from sqlanon.errors import (
        AuditError,
        EngineError,
        HierarchyError,
        IdentifyingColumnError,
        InputError,
        Interrupted,
        NoSolutionError,
        NothingNewError,
        PolicyError,
        RepeatError,
        SearchStoppedError,
        SourceChangedError,
        SourceError,
        SqlanonError,
        TargetError,
        UncoveredValuesError,
        UnsupportedError,
    )
    from sqlanon.live.refreshing import Refresh, refresh
    from sqlanon.parameters import Parameter
    from sqlanon.recoding.local.recoded_plan import RecodedPlan
    from sqlanon.report.evidence.pack import EvidencePack, evidence
    from sqlanon.report.files import write_report
    from sqlanon.report.summarizing import RunSummary, summarize
    from sqlanon.studio.verb import Studio, studio
    from sqlanon.tables.anonymizing import anonymize_tables
    from sqlanon.tables.policy import TablesPolicy
    from sqlanon.tables.release import TablesRelease

__all__ = [
    "Ages",
    "AttackReport",
    "AuditError",
    "AverageRisk",
    "BetaLikeness",
    "BoundedKnowledge",
    "CheckResult",
    "Codes",
    "CohortsSpec",
    "Column",
    "ColumnProfile",
    "Control",
    "CountsCheck",
    "CountsPolicy",
    "CountsRelease",
    "Dates",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctLDiversity",
    "EngineError",
    "EngineOptions",
    "EntropyLDiversity",
    "EvidencePack",
    "ExtensionHierarchy",
    "Extensions",
    "Figure",
    "FileHierarchy",
    "Finding",
    "FrequentValues",
    "Frontier",
    "FrontierPoint",
    "Groups",
    "HierarchyError",
    "IdentifyingColumnError",
    "InputError",
    "Interrupted",
    "Intervals",
    "Join",
    "KAnonymity",
    "KMap",
    "Key",
    "LedgerSpec",
    "Levels",
    "Like",
    "LocalRecoding",
    "Model",
    "ModelResult",
    "NoSolutionError",
    "NotApplicable",
    "NothingNewError",
    "NullAudit",
    "NullBias",
    "Output",
    "Parameter",
    "Patterns",
    "Periods",
    "Plan",
    "Policy",
    "PolicyError",
    "PopulationUniqueness",
    "Prefix",
    "Profile",
    "ProfileK",
    "Publish",
    "Quality",
    "RecodedPlan",
    "RecursiveLDiversity",
    "Redact",
    "Refresh",
    "Release",
    "RepeatError",
    "Risk",
    "RiskComparison",
    "RunSummary",
    "SampleUniqueness",
    "SearchOptions",
    "SearchStoppedError",
    "Solution",
    "SourceChangedError",
    "SourceError",
    "SqlanonError",
    "Studio",
    "Suppress",
    "TCloseness",
    "TableHierarchy",
    "TablesPolicy",
    "TablesRelease",
    "TargetError",
    "UncoveredValuesError",
    "UnsupportedError",
    "Utility",
    "Verification",
    "Zip3",
    "__version__",
    "anonymize",
    "anonymize_tables",
    "attack",
    "attack_file",
    "check",
    "check_counts",
    "counts",
    "evidence",
    "frontier",
    "plan",
    "profile",
    "recode",
    "refresh",
    "risk",
    "studio",
    "summarize",
    "verify",
    "write_report",
]

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
