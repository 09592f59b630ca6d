"""The first line of a policy that is written as YAML: where editors find the JSON Schema that they check it by."""

from __future__ import annotations

from pathlib import Path

from sqlanon.version import DOCUMENTATION, VERSION

_PAGES = DOCUMENTATION.replace("github.com", "raw.githubusercontent.com").replace("tree/main", f"v{VERSION}")
SCHEMA_URL = f"{_PAGES}/reference/policy.schema.json"
"""The schema of this version, among the pages of the documentation."""
SCHEMA_FILE = "policy.schema.json"
"""The name of a schema that stands beside policies, as ``sqlanon schema --out`` writes it."""
COMMENT = "# yaml-language-server: $schema="


def schema_line(folder: Path) -> str:
    """Return the line for a policy in a folder: it names the schema that stands there, or else that of this version."""
    return COMMENT + (SCHEMA_FILE if (folder / SCHEMA_FILE).is_file() else SCHEMA_URL)
