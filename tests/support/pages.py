"""Pages of documentation as their reader follows them: files to write, commands and programs to run, in this order.

A page is Markdown. Each block of code must be one of these, and a test refuses any other:

- a file: the paragraph before it ends with the file's name in backquotes and a colon, or its first line is a comment
  that consists of the name;
- ``sh``: commands of a shell, run in the page's folder; ``python``: a program, run there too;
- ``text``: output;
- after ``<!-- merged into FILE -->``: keys of a policy that replace those of FILE, which is then run;
- after ``<!-- not run: REASON -->``: none of these. The reason is for whoever edits the page.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([\w./-]+\.\w+)`:$")
COMMENT = re.compile(r"^(?:#|--) (\S+\.\w+)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: where it stands, in which section, and what the page says that it is."""

    page: str
    line: int
    section: str
    language: str
    text: str
    file: str | None = None
    merged_into: str | None = None
    not_run: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks(page: str) -> list[Block]:
    """Return all blocks of code of a page, a path below the root of the project."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        before = text[: match.start()].rstrip()
        last = before.rsplit("\n", 1)[-1].strip()
        body = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
        first = COMMENT.match(body.split("\n", 1)[0])
        named = NAMED.search(last) or first
        note = re.fullmatch(r"<!-- (merged into|not run:) (.*) -->", last)
        sections = re.findall(r"^## (.*)$", before, re.MULTILINE)
        found.append(
            Block(
                page,
                before.count("\n") + 2,
                sections[-1] if sections else "",
                match[2],
                body,
                named[1] if named else None,
                note[2] if note and note[1] == "merged into" else None,
                note[2] if note and note[1] == "not run:" else None,
            )
        )
    return found


def list_pages() -> list[str]:
    """Return every page of the project that people read."""
    paths = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*/README.md"),
        ROOT / "sql/dbt/README.md",
    ]
    return sorted({str(path.relative_to(ROOT)) for path in paths})


def merge(keys: Path, policy: Path) -> None:
    """Replace keys of a policy by those of a block; columns one by one."""
    document, changes = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in (policy, keys))
    changes["columns"] = document["columns"] | changes.get("columns", {})
    policy.write_text(yaml.safe_dump(document | changes, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    merge(Path(sys.argv[1]), Path(sys.argv[2]))
