"""Everything that authors of extensions import: docs/extending.md has an example of each kind.

A privacy model follows ``PrivacyModel``, a quality measure derives from ``AttributeMeasure`` or ``ClassMeasure``, a
search strategy is a ``Search``, a hierarchy builder follows ``HierarchyBuilder``, and a file format ``FileFormat``. The
rooms of the package may change behind this module.
"""

from sqlanon.core.formats.base import FileFormat
from sqlanon.core.hierarchies.builders import HierarchyBuilder
from sqlanon.core.lattice.catalog import Attribute, Catalog, SensitiveAttribute
from sqlanon.core.lattice.nodes import Lattice, Node, leq
from sqlanon.core.measures.base import (
    AGGREGATES,
    AttributeMeasure,
    BottomFacts,
    ClassMeasure,
    Counts,
    LowerBounds,
    Measure,
    fold,
)
from sqlanon.core.models.base import PrivacyModel, fraction, labelled, too_few_values
from sqlanon.core.models.classes import ClassArrays, Judgement
from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.search.base import Problem, Progress, Request, Search, Strategy, Verdict, better
from sqlanon.errors import HierarchyError, InputError, SourceError, TargetError, UnsupportedError
from sqlanon.parameters import Check, Parameter, character, choice, exact, flag, number, text, whole
from sqlanon.testing import check_builder, check_format, check_measure, check_model, check_strategy

__all__ = [
    "AGGREGATES",
    "Attribute",
    "AttributeMeasure",
    "BottomFacts",
    "Catalog",
    "Check",
    "ClassArrays",
    "ClassMeasure",
    "Counts",
    "Extensions",
    "FileFormat",
    "HierarchyBuilder",
    "HierarchyError",
    "InputError",
    "Judgement",
    "Lattice",
    "LowerBounds",
    "Measure",
    "Node",
    "Parameter",
    "PrivacyModel",
    "Problem",
    "Progress",
    "Request",
    "Search",
    "SensitiveAttribute",
    "SourceError",
    "Strategy",
    "TargetError",
    "UnsupportedError",
    "Verdict",
    "better",
    "character",
    "check_builder",
    "check_format",
    "check_measure",
    "check_model",
    "check_strategy",
    "choice",
    "exact",
    "flag",
    "fold",
    "fraction",
    "labelled",
    "leq",
    "number",
    "text",
    "too_few_values",
    "whole",
]
