"""The wheel and the source distribution hold what they should, and nothing else."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from sqlanon.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
if not (ROOT / "pyproject.toml").is_file():
    pytest.skip("the tests run without the checkout", allow_module_level=True)
pytest.importorskip("hatchling", reason="hatchling builds the packages: pip install hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return folder


def files(folder: str, pattern: str) -> set[str]:
    """The files below a folder of the checkout."""
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern)}


def test_the_wheel_holds_the_package_and_its_sql(built: Path) -> None:
    with zipfile.ZipFile(built / f"sqlanon-{VERSION}-py3-none-any.whl") as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {name for name in held if name.endswith(".py")} == files("sqlanon", "*.py")
    assert {name for name in held if name.startswith("sqlanon/_sql/") and name.endswith(".sql")} == {
        f"sqlanon/_{name}" for name in files("sql", "*.sql")
    }
    assert "sqlanon/py.typed" in held
    assert all(name.startswith("sqlanon/") for name in held)
    assert not [name for name in held if "__pycache__" in name or name.endswith(".pyc")]


def test_its_metadata_say_what_it_needs(built: Path) -> None:
    with zipfile.ZipFile(built / f"sqlanon-{VERSION}-py3-none-any.whl") as wheel:
        listed = wheel.namelist()
        found = Parser().parsestr(wheel.read(f"sqlanon-{VERSION}.dist-info/METADATA").decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert found["Version"] == VERSION and found["Requires-Python"] == project["requires-python"]
    always = [item for item in found.get_all("Requires-Dist", []) if "extra ==" not in item]
    assert {re.split(r"[<>=;\[ ]", item)[0].lower() for item in always} == {
        re.split(r"[<>=;\[ ]", item)[0].lower() for item in project["dependencies"]
    }
    assert set(found.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert f"sqlanon-{VERSION}.dist-info/licenses/LICENSE" in listed


def test_the_source_distribution_can_be_tested_and_built_again(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / f"sqlanon-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / f"sqlanon-{VERSION}"
    assert {path.relative_to(source).as_posix() for path in (source / "tests").rglob("*.py")} == files("tests", "*.py")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=source,
        check=True,
        capture_output=True,
    )
    name = f"sqlanon-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as again, zipfile.ZipFile(built / name) as first:
        assert {item.filename: item.CRC for item in again.infolist()} == {
            item.filename: item.CRC for item in first.infolist()
        }
