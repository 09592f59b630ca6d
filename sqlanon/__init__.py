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
from sqlanon.policy import Column, Model, Output, Policy, Quality, SearchOptions
from sqlanon.verification import Verification, verify

__all__ = [
    "AuditError",
    "Column",
    "EngineError",
    "HierarchyError",
    "InputError",
    "Model",
    "NoSolutionError",
    "Output",
    "Plan",
    "Policy",
    "PolicyError",
    "Quality",
    "Release",
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
    "verify",
]
