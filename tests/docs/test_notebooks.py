"""The notebooks of examples/ print what they show when they are run again; nothing of a machine stands in them."""

import itertools
import json
import re
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.nightly("every run executes both notebooks once")
def test_notebooks_run_again_and_in_one_folder(tmp_path: Path) -> None:
    """The cells that make and write something, each one twice, one notebook after the other; then all of them again."""
    for module in NEEDED:
        pytest.importorskip(module, reason=f"{module} is not installed: pip install 'sqlanon[docs]'")
    import nbformat

    for times, path in itertools.product((2, 1), notebooks.NOTEBOOKS):
        notebook = nbformat.read(path, as_version=4)
        making = [cell for cell in notebook.cells if re.search(r"^import sqlanon|connect\(|output", cell.source, re.M)]
        assert any("demo" in cell.source for cell in making)
        notebook.cells = [nbformat.from_dict({**cell, "id": f"{cell.id}-{n}"}) for cell in making for n in range(times)]
        nbformat.write(notebook, tmp_path / path.name)
        notebooks.execute(tmp_path / path.name, tmp_path)


def test_a_command_that_fails_in_a_notebook_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed = subprocess.CompletedProcess([], 2, "", "no room for the demo")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    for path in notebooks.NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        [source] = [text for cell in cells if "subprocess.run" in (text := "".join(cell["source"]))]
        commands = source[source.index("folder =") :]
        with pytest.raises(RuntimeError, match="no room for the demo"):
            exec(commands, {"Path": Path, "subprocess": subprocess, "sys": sys})
