"""What the site makes of pages that are written to be read on GitHub: its navigation, cards, titles of links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

SECTION = re.compile(r"\*\*(.+)\*\*")
ROW = re.compile(r"\| \[([^\]]+)\]\(([\w./-]+\.md)\) \| (.*) \|")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([\w./-]+)((?:#[^)]*)?)\)")


def read_navigation(index: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the sections of an index, each a line in bold, with the titles and paths in the table below it.

    Rows that lead out of docs/ are left out.
    """
    sections: list[tuple[str, list[tuple[str, str]]]] = []
    for line in index.splitlines():
        if heading := SECTION.fullmatch(line):
            sections.append((heading[1], []))
        elif (row := ROW.fullmatch(line)) and not row[2].startswith("../"):
            sections[-1][1].append((row[1], row[2]))
    return sections


def read_title(page: Path) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else page.name


def as_cards(index: str) -> str:
    """Return an index with a heading for each section, and a card for each row of its table."""
    lines: list[str] = []
    inside = False
    for line in index.splitlines():
        heading, row = SECTION.fullmatch(line), ROW.fullmatch(line)
        if inside and not line.startswith("|"):
            lines.append("</div>\n")
            inside = False
        if heading:
            lines.append(f"## {heading[1]}")
        elif row and not inside:
            lines.append('<div class="grid cards" markdown>\n')
            inside = True
        if row:
            lines.append(f"- **[{row[1]}]({row[2]})**\n\n    {row[3]}\n")
        elif not heading and not line.startswith("|"):
            lines.append(line)
    return "\n".join([*lines, "</div>\n"] if inside else lines)


def on_config(config: Any) -> Any:
    """Take the navigation from the index; a page whose title there is its file's name has that of its heading."""
    index = (Path(config["docs_dir"]) / "README.md").read_text(encoding="utf-8")
    config["nav"] = [{"Home": "README.md"}]
    for section, pages in read_navigation(index):
        config["nav"].append({section: [path if title.endswith(".md") else {title: path} for title, path in pages]})
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Let links out of docs/ lead to the repository, and give links that are called by a file the title of its page."""
    folder = Path(config["docs_dir"], page.file.src_uri).parent
    depth = page.file.src_uri.count("/")

    def turn(link: re.Match[str]) -> str:
        name, path, anchor = link.groups()
        if path.count("../") > depth:
            return f"[{name}]({config['repo_url']}/blob/main/{path.replace('../', '')}{anchor})"
        if name.endswith(".md") and path.endswith(".md"):
            return f"[{read_title(folder / path)}]({path}{anchor})"
        return link[0]

    return LINK.sub(turn, as_cards(markdown) if page.file.src_uri == "README.md" else markdown)
