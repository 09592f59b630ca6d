"""The public names of the package, for type checkers; ``__init__.py`` loads each when it is asked for."""

from sqlanon.assess.attack.attacking import (
    attack as attack,
)
from sqlanon.assess.attack.attacking import (
    attack_file as attack_file,
)
from sqlanon.assess.attack.facts import (
    AttackReport as AttackReport,
)
from sqlanon.assess.attack.facts import (
    Control as Control,
)
from sqlanon.assess.attack.facts import (
    Finding as Finding,
)
from sqlanon.assess.attack.facts import (
    NotApplicable as NotApplicable,
)
from sqlanon.assess.frontier.points import (
    Frontier as Frontier,
)
from sqlanon.assess.frontier.points import (
    FrontierPoint as FrontierPoint,
)
from sqlanon.assess.frontier.verb import frontier as frontier
from sqlanon.assess.profiling.facts import (
    ColumnProfile as ColumnProfile,
)
from sqlanon.assess.profiling.facts import (
    Profile as Profile,
)
from sqlanon.assess.profiling.profile import profile as profile
from sqlanon.assess.relations.null_bias import NullBias as NullBias
from sqlanon.assess.relations.nulls import NullAudit as NullAudit
from sqlanon.assess.relations.verbs import (
    check as check,
)
from sqlanon.assess.relations.verbs import (
    risk as risk,
)
from sqlanon.assess.risk.facts import (
    Figure as Figure,
)
from sqlanon.assess.risk.facts import (
    Risk as Risk,
)
from sqlanon.assess.risk.facts import (
    RiskComparison as RiskComparison,
)
from sqlanon.assess.utility.facts import Utility as Utility
from sqlanon.core.anonymizer import (
    anonymize as anonymize,
)
from sqlanon.core.anonymizer import (
    plan as plan,
)
from sqlanon.core.anonymizer import (
    recode as recode,
)
from sqlanon.core.audit.check import (
    CheckResult as CheckResult,
)
from sqlanon.core.audit.check import (
    ModelResult as ModelResult,
)
from sqlanon.core.hierarchies.specs import (
    Ages as Ages,
)
from sqlanon.core.hierarchies.specs import (
    Codes as Codes,
)
from sqlanon.core.hierarchies.specs import (
    Dates as Dates,
)
from sqlanon.core.hierarchies.specs import (
    ExtensionHierarchy as ExtensionHierarchy,
)
from sqlanon.core.hierarchies.specs import (
    FileHierarchy as FileHierarchy,
)
from sqlanon.core.hierarchies.specs import (
    FrequentValues as FrequentValues,
)
from sqlanon.core.hierarchies.specs import (
    Groups as Groups,
)
from sqlanon.core.hierarchies.specs import (
    Intervals as Intervals,
)
from sqlanon.core.hierarchies.specs import (
    Levels as Levels,
)
from sqlanon.core.hierarchies.specs import (
    Prefix as Prefix,
)
from sqlanon.core.hierarchies.specs import (
    Redact as Redact,
)
from sqlanon.core.hierarchies.specs import (
    Suppress as Suppress,
)
from sqlanon.core.hierarchies.specs import (
    TableHierarchy as TableHierarchy,
)
from sqlanon.core.hierarchies.specs import (
    Zip3 as Zip3,
)
from sqlanon.core.plan.full_domain import (
    Plan as Plan,
)
from sqlanon.core.plan.full_domain import (
    Solution as Solution,
)
from sqlanon.core.plan.release import Release as Release
from sqlanon.core.policy import (
    CohortsSpec as CohortsSpec,
)
from sqlanon.core.policy import (
    Column as Column,
)
from sqlanon.core.policy import (
    EngineOptions as EngineOptions,
)
from sqlanon.core.policy import (
    Join as Join,
)
from sqlanon.core.policy import (
    Key as Key,
)
from sqlanon.core.policy import (
    LedgerSpec as LedgerSpec,
)
from sqlanon.core.policy import (
    Like as Like,
)
from sqlanon.core.policy import (
    LocalRecoding as LocalRecoding,
)
from sqlanon.core.policy import (
    Model as Model,
)
from sqlanon.core.policy import (
    Output as Output,
)
from sqlanon.core.policy import (
    Patterns as Patterns,
)
from sqlanon.core.policy import (
    Periods as Periods,
)
from sqlanon.core.policy import (
    Policy as Policy,
)
from sqlanon.core.policy import (
    Publish as Publish,
)
from sqlanon.core.policy import (
    Quality as Quality,
)
from sqlanon.core.policy import (
    SearchOptions as SearchOptions,
)
from sqlanon.core.policy.extensions import Extensions as Extensions
from sqlanon.core.policy.privacy import (
    AverageRisk as AverageRisk,
)
from sqlanon.core.policy.privacy import (
    BetaLikeness as BetaLikeness,
)
from sqlanon.core.policy.privacy import (
    BoundedKnowledge as BoundedKnowledge,
)
from sqlanon.core.policy.privacy import (
    DeltaDisclosure as DeltaDisclosure,
)
from sqlanon.core.policy.privacy import (
    DeltaPresence as DeltaPresence,
)
from sqlanon.core.policy.privacy import (
    DistinctLDiversity as DistinctLDiversity,
)
from sqlanon.core.policy.privacy import (
    EntropyLDiversity as EntropyLDiversity,
)
from sqlanon.core.policy.privacy import (
    KAnonymity as KAnonymity,
)
from sqlanon.core.policy.privacy import (
    KMap as KMap,
)
from sqlanon.core.policy.privacy import (
    PopulationUniqueness as PopulationUniqueness,
)
from sqlanon.core.policy.privacy import (
    ProfileK as ProfileK,
)
from sqlanon.core.policy.privacy import (
    RecursiveLDiversity as RecursiveLDiversity,
)
from sqlanon.core.policy.privacy import (
    SampleUniqueness as SampleUniqueness,
)
from sqlanon.core.policy.privacy import (
    TCloseness as TCloseness,
)
from sqlanon.core.verification import (
    Verification as Verification,
)
from sqlanon.core.verification import (
    verify as verify,
)
from sqlanon.counts.document import CountsPolicy as CountsPolicy
from sqlanon.counts.foreign_audit import (
    CountsCheck as CountsCheck,
)
from sqlanon.counts.foreign_audit import (
    check_counts as check_counts,
)
from sqlanon.counts.release import CountsRelease as CountsRelease
from sqlanon.counts.verb import counts as counts
from sqlanon.errors import (
    AuditError as AuditError,
)
from sqlanon.errors import (
    EngineError as EngineError,
)
from sqlanon.errors import (
    HierarchyError as HierarchyError,
)
from sqlanon.errors import (
    IdentifyingColumnError as IdentifyingColumnError,
)
from sqlanon.errors import (
    InputError as InputError,
)
from sqlanon.errors import (
    Interrupted as Interrupted,
)
from sqlanon.errors import (
    NoSolutionError as NoSolutionError,
)
from sqlanon.errors import (
    NothingNewError as NothingNewError,
)
from sqlanon.errors import (
    PolicyError as PolicyError,
)
from sqlanon.errors import (
    RepeatError as RepeatError,
)
from sqlanon.errors import (
    SearchStoppedError as SearchStoppedError,
)
from sqlanon.errors import (
    SourceChangedError as SourceChangedError,
)
from sqlanon.errors import (
    SourceError as SourceError,
)
from sqlanon.errors import (
    SqlanonError as SqlanonError,
)
from sqlanon.errors import (
    TargetError as TargetError,
)
from sqlanon.errors import (
    UncoveredValuesError as UncoveredValuesError,
)
from sqlanon.errors import (
    UnsupportedError as UnsupportedError,
)
from sqlanon.live.refreshing import (
    Refresh as Refresh,
)
from sqlanon.live.refreshing import (
    refresh as refresh,
)
from sqlanon.parameters import Parameter as Parameter
from sqlanon.recoding.local.recoded_plan import RecodedPlan as RecodedPlan
from sqlanon.report.evidence.pack import (
    EvidencePack as EvidencePack,
)
from sqlanon.report.evidence.pack import (
    evidence as evidence,
)
from sqlanon.report.files import write_report as write_report
from sqlanon.report.summarizing import (
    RunSummary as RunSummary,
)
from sqlanon.report.summarizing import (
    summarize as summarize,
)
from sqlanon.studio.verb import (
    Studio as Studio,
)
from sqlanon.studio.verb import (
    studio as studio,
)
from sqlanon.tables.anonymizing import anonymize_tables as anonymize_tables
from sqlanon.tables.policy import TablesPolicy as TablesPolicy
from sqlanon.tables.release import TablesRelease as TablesRelease

__version__: str
__all__: list[str]
