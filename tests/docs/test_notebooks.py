"""The notebooks of examples/ print what they show when they are run again; nothing of a machine stands in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import notebooks
import pytest

NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib")


def test_there_are_two_notebooks_and_the_index_names_them() -> None:
    index = (notebooks.ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert len(notebooks.NOTEBOOKS) == 2
    assert all(f"]({path.name})" in index for path in notebooks.NOTEBOOKS)


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_executed_and_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert document["metadata"] == notebooks.METADATA and len(text) < 200_000
    outputs = json.dumps([cell["outputs"] for cell in cells])
    assert not re.search(r"/(?:home|root|tmp|work|usr|Users)/|[A-Z]:\\\\", outputs)
    assert '"error"' not in outputs and '"stderr"' not in outputs
    links = re.findall(r"\]\((\.\./[^)#]+)", text)
    assert links and all((path.parent / link).exists() for link in links)


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    for module in NEEDED:
        pytest.importorskip(module, reason=f"{module} is not installed: pip install 'sqlanon[docs]'")
    import nbformat

    shown = notebooks.printed(nbformat.read(path, as_version=4))
    assert str(shown).count("image/png") >= 2
    assert notebooks.printed(notebooks.execute(path, tmp_path)) == shown
