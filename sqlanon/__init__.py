"""sqlanon: anonymize a table where it lies, with a proof of optimality and an account of every record."""

from sqlanon.anonymizer import VERSION as __version__
from sqlanon.anonymizer import Plan, Release, Solution, anonymize, plan
from sqlanon.errors import (
    AuditError,
    EngineError,
    HierarchyError,
    InputError,
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
from sqlanon.extensions import Extensions
from sqlanon.parameters import Parameter
from sqlanon.policy import Column, Join, Model, Output, Policy, Quality, SearchOptions
from sqlanon.report.files import write_report
from sqlanon.report.summary import RunSummary, summarize
from sqlanon.verification import Verification, verify

__all__ = [
    "AuditError",
    "Column",
    "EngineError",
    "Extensions",
    "HierarchyError",
    "InputError",
    "Join",
    "Model",
    "NoSolutionError",
    "Output",
    "Parameter",
    "Plan",
    "Policy",
    "PolicyError",
    "Quality",
    "Release",
    "RunSummary",
    "SearchOptions",
    "SearchStoppedError",
    "Solution",
    "SourceChangedError",
    "SourceError",
    "SqlanonError",
    "TargetError",
    "UncoveredValuesError",
    "UnsupportedError",
    "Verification",
    "__version__",
    "anonymize",
    "plan",
    "summarize",
    "verify",
    "write_report",
]
