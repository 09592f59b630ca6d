"""Notebooks of examples/, executed: ``python tests/support/notebooks.py`` runs all of them and writes what they print.

Nothing of the machine is kept: no times, no version of Python, no paths (they work in a folder that is removed).
"""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of an execution in a folder; its file stays as it is.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with what was printed in several pieces as one."""
    found: list[Any] = []
    for output in outputs:
        if found and output.output_type == "stream" and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def printed(notebook: Any) -> list[list[str]]:
    """Return for each cell of code what it printed: texts, and for a picture its type."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = []
            for output in cell.outputs:
                data = output.get("data", {})
                picture = next((kind for kind in data if kind.startswith("image/")), None)
                outputs.append(picture or output.get("text") or data.get("text/plain", output.output_type))
            found.append(outputs)
    return found


if __name__ == "__main__":
    import tempfile

    import nbformat

    for name in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as place:
            nbformat.write(execute(name, Path(place)), name)
