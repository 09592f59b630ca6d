"""What stands behind the doors of the core (``core.doors``): the one list that names both.

A line names a door and the object behind it, ``module:name`` or a module, which is loaded when it is asked for. A wing
whose folder is gone is missing from the installation, and the core goes on without it.
"""

BEHIND = {
    "certificate counts": "sqlanon.counts.verification:verify_counts",
    "card": "sqlanon.report.cards",
    "formats": "sqlanon.interop.formats:FORMATS",
    "document .xml": "sqlanon.interop.anon.definition_reading:read_definition",
    "plan Patterns": "sqlanon.recoding.local.pattern_plan:patterns_plan",
    "plan LocalRecoding": "sqlanon.recoding.local.node_plan:nodes_plan",
    "ledger": "sqlanon.ledger.run:ledger_of_run",
    "ledger counts": "sqlanon.ledger.counts:counts_ledger",
    "periods": "sqlanon.periods.opening:open_periods",
    "lake delta": "sqlanon.interop.lake.delta:DeltaTarget",
    "lake iceberg": "sqlanon.interop.lake.iceberg:IcebergTarget",
    "output live_view": "sqlanon.live.output:OUTPUT",
    "null audit": "sqlanon.assess.relations.of_plan:null_audit_of_plan",
    "null bias": "sqlanon.assess.relations.of_plan:null_bias_of_plan",
    "risk": "sqlanon.assess.risk.of_plan:risk_of_plan",
    "redacted texts": "sqlanon.assess.redaction.redacting:redact_texts",
    "utility": "sqlanon.assess.utility.measuring:utility_of_plan",
}
