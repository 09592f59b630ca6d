"""The definition file that the documentation shows."""

import re
from pathlib import Path

DOCS = (Path(__file__).parents[2] / "docs" / "definition.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```xml\n(.*?)```", DOCS, re.DOTALL)[1]
