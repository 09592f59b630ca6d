"""Print the modules of tests that need nothing but the core: neither they nor the support they import names a wing.

`.ci/run` runs them in a copy of the package that has no wing.
"""

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
WINGS = (
    "recoding", "live", "ledger", "periods", "tables", "counts", "assess", "interop", "report", "studio",
    "commands", "cli",
)  # fmt: skip
FOLDERS = ("anonymize", "contract", "engines", "publish", "unit")
BY_PUBLIC_NAMES = {
    "test_architecture", "test_constructors", "test_facts", "test_frames", "test_fuzz",
    "test_private_relations", "test_replacing",
}  # fmt: skip
"""Modules that ask wings for something by names of ``sqlanon`` itself, or by a policy."""


def imported(path: Path) -> set[str]:
    """The dotted names that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def needs_wing(path: Path) -> bool:
    """Whether a file, or one of support that it imports, imports a wing."""
    files = [path]
    for file in files:
        names = imported(file)
        if any(f"{name}.".startswith(tuple(f"sqlanon.{wing}." for wing in WINGS)) for name in names):
            return True
        beside = [TESTS / "support" / f"{name}.py" for name in names]
        files += [each for each in beside if each.is_file() and each not in files]
    return False


def core_tests() -> list[Path]:
    """The modules of tests, sorted."""
    modules = sorted(path for folder in FOLDERS for path in (TESTS / folder).glob("test_*.py"))
    return [path for path in modules if path.stem not in BY_PUBLIC_NAMES and not needs_wing(path)]


if __name__ == "__main__":
    print(*(path.relative_to(TESTS.parent) for path in core_tests()))
