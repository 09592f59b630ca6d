"""sqlanon: anonymize a table where it lies, with a proof of optimality and an account of every record."""

from sqlanon.anonymizer import anonymize, plan, recode
from sqlanon.errors import (
    AuditError,
    EngineError,
    HierarchyError,
    IdentifyingColumnError,
    InputError,
    Interrupted,
    NoSolutionError,
    PolicyError,
    SearchStoppedError,
    SourceChangedError,
    SourceError,
    SqlanonError,
    TargetError,
    UncoveredValuesError,
    UnsupportedError,
)
from sqlanon.parameters import Parameter
from sqlanon.plan.full_domain import Plan, Solution
from sqlanon.plan.recoding.recoded_plan import RecodedPlan
from sqlanon.plan.release import Release
from sqlanon.policy import (
    Column,
    EngineOptions,
    Join,
    LocalRecoding,
    Model,
    Output,
    Patterns,
    Policy,
    Quality,
    SearchOptions,
)
from sqlanon.policy.extensions import Extensions
from sqlanon.policy.hierarchy.specs import (
    Dates,
    ExtensionHierarchy,
    FileHierarchy,
    Groups,
    Intervals,
    Levels,
    Redact,
    Suppress,
    TableHierarchy,
)
from sqlanon.policy.privacy import (
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
)
from sqlanon.refreshing import Refresh, refresh
from sqlanon.report.files import write_report
from sqlanon.report.summary import RunSummary, summarize
from sqlanon.verification import Verification, verify
from sqlanon.version import VERSION as __version__

__all__ = [
    "AuditError",
    "Column",
    "Dates",
    "DeltaPresence",
    "DistinctLDiversity",
    "EngineError",
    "EngineOptions",
    "EntropyLDiversity",
    "ExtensionHierarchy",
    "Extensions",
    "FileHierarchy",
    "Groups",
    "HierarchyError",
    "IdentifyingColumnError",
    "InputError",
    "Interrupted",
    "Intervals",
    "Join",
    "KAnonymity",
    "Levels",
    "LocalRecoding",
    "Model",
    "NoSolutionError",
    "Output",
    "Parameter",
    "Patterns",
    "Plan",
    "Policy",
    "PolicyError",
    "Quality",
    "RecodedPlan",
    "RecursiveLDiversity",
    "Redact",
    "Refresh",
    "Release",
    "RunSummary",
    "SearchOptions",
    "SearchStoppedError",
    "Solution",
    "SourceChangedError",
    "SourceError",
    "SqlanonError",
    "Suppress",
    "TCloseness",
    "TableHierarchy",
    "TargetError",
    "UncoveredValuesError",
    "UnsupportedError",
    "Verification",
    "__version__",
    "anonymize",
    "plan",
    "recode",
    "refresh",
    "summarize",
    "verify",
    "write_report",
]
