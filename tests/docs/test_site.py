"""The site of the documentation: its navigation has every page, it builds without a warning, and loads nothing."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import sqlanon
from sqlanon.assess.risk.facts import LABELS
from sqlanon.core.measures import MEASURES
from sqlanon.core.models import MODELS
from sqlanon.core.search import STRATEGIES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "paper"]
"""The pages of the site; what journals ask for is none."""
GENERAL = {"highest", "average", "lowest", "below", "pairs", "k", "uniques", "expected", "reidentifications"}
"""Words of the names of figures that are no terms."""


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """docs/site/hooks.py, imported."""
    spec = spec_from_file_location("hooks", DOCS / "site" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a warning is an error."""
    for module in ("material", "mkdocstrings", "griffe"):
        pytest.importorskip(module, reason=f"{module} is not installed: pip install 'sqlanon[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet",
         "--config-file", "docs/site/mkdocs.yml", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_every_page_is_in_the_navigation_once(hooks: ModuleType) -> None:
    sections = hooks.read_navigation((DOCS / "README.md").read_text(encoding="utf-8"))
    listed = [path for _, pages in sections for _, path in pages]
    pages = [path.relative_to(DOCS).as_posix() for path in PAGES]
    assert sorted([*listed, "README.md"]) == sorted(pages), "each page has one row in a table of docs/README.md"
    assert all(pages for _, pages in sections) and len(sections) > 5


def test_links_lead_to_the_repository_and_are_called_by_the_titles_of_pages(hooks: ModuleType) -> None:
    class Page:
        class file:
            src_uri = "reference/python.md"

    config = {"repo_url": "https://example.org/x", "docs_dir": str(DOCS)}
    text = "[a](../python.md) [b](../../README.md#c) [d](https://e/f.md) [faq.md](../faq.md#g) [h](#h)"
    assert hooks.on_page_markdown(text, page=Page, config=config) == (
        "[a](../python.md) [b](https://example.org/x/blob/main/README.md#c) [d](https://e/f.md) "
        "[Questions](../faq.md#g) [h](#h)"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_reads_alike_on_github_and_in_the_site(page: Path) -> None:
    """What stands in a list is indented by four, a list begins after an empty line: else the site takes it apart."""
    inside, before = False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = line.lstrip().startswith("```")
        indent = len(line) - len(line.lstrip())
        item = re.match(r"([-*+]|\d+\.) ", line.lstrip())
        if not inside and line:
            assert not (indent in (1, 2, 3) and (item or fence or not before)), f"line {number}: indent by four"
            begins = item and not indent and before and not re.match(r"\s|[-*+] |\d+\. ", before)
            assert not begins, f"line {number}: an empty line before the list"
        inside ^= fence
        before = line


def test_the_home_page_has_a_card_for_each_page(hooks: ModuleType) -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    cards = hooks.as_cards(index)
    paths = [path for _, pages in hooks.read_navigation(index) for _, path in pages]
    assert [path for path in paths if f"]({path})**" not in cards] == [] and "| page |" not in cards
    assert cards.count("<div") == cards.count("</div>") == cards.count("\n## ")


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (sqlanon[\w.]*)\.(\w+)$", text, re.MULTILINE)
    assert sorted([*(name for _, name in listed), "__version__"]) == sorted(sqlanon.__all__)
    other = [name for home, name in listed if getattr(import_module(home), name) is not getattr(sqlanon, name)]
    assert {*other} <= {"counts", "studio"}, "these folders have the names of their verbs, which they call"
    assert [name for home, name in listed if f"{home}.{name}" in sys.modules] == [], "a module stands in for a verb"
    assert "`sqlanon.__version__`" in text


def test_the_glossary_has_every_model_measure_strategy_and_attack() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    names = [kind.type for kind in MODELS]  # type: ignore[attr-defined]
    names += [measure.name for measure in MEASURES] + [name for name, _ in STRATEGIES]
    assert [name for name in names if f"`{name}`" not in text] == []
    words = {word for key in LABELS for word in key.split("_") if word not in GENERAL}
    assert [word for word in sorted(words) if word not in text] == []


@pytest.mark.slow
@pytest.mark.nightly(".ci/run builds the site")
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [*site.glob("**/*.html")]
    assert len(pages) > 35 and (site / "index.html").exists()
    loaded = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\" >]+")
    for page in pages:
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.glob("**/*.css"):
        assert re.findall(r"(?:url\(|@import)[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == [], sheet
    assert not [*site.glob("site/*.py"), *site.glob("site/*.yml")]


@pytest.mark.slow
def test_search_finds_names_terms_and_headings(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    documents = json.loads(index.removeprefix("var __index = "))["docs"]
    for word in ("TCloseness", "δ-disclosure", "public_only", "minimality"):
        assert any(word in f"{found['title']} {found['text']}" for found in documents), word


@pytest.mark.slow
def test_the_reference_shows_signatures_and_docstrings(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    for name in sqlanon.__all__:
        assert name == "__version__" or re.search(rf'id="sqlanon[\w.]*\.{name}"', text), name
    assert text.count("Raises") > 20 and "policy-keys" in text
    keys = (site / "reference" / "policy-keys.html").read_text(encoding="utf-8")
    assert "on_interrupt" in keys
