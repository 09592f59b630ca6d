"""What docs/warehouse.md shows runs as it is printed, from an empty server to a granted, audited view."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_server import Server, binaries
from spark_cluster import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "warehouse.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def follow(folder: Path, steps: list[str], environment: dict[str, str]) -> list[str]:
    """Run the steps in one shell; what each of them printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.environ["PATH"])])
    script = "set -eu\n" + "\n".join(f"echo '--- step'\n{step}" for step in steps)
    script = script.replace("sqlanon ", f"{sys.executable} -m sqlanon.cli ")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-3000:])
    reported = done.stdout.split("--- step\n")
    assert len(reported) == len(steps) + 1
    return reported[1:]


@pytest.mark.slow
def test_the_way_to_a_granted_view(postgres: Server, tmp_path: Path) -> None:
    pytest.importorskip("sqlanon.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
    programs = binaries()
    assert programs is not None
    if shutil.which("psql", path=str(programs)) is None:
        pytest.skip("psql is not installed")
    text = section("PostgreSQL")
    [policy] = blocks(text, "yaml")
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    install, *steps = blocks(text, "sh")
    assert install == "python -m pip install 'sqlanon[postgres]'\n"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]), "PGHOST": str(postgres.folder),
        "PGUSER": postgres.user, "PGDATABASE": postgres.database,
    }  # fmt: skip
    output = follow(tmp_path, [quick(step) for step in steps], environment)
    assert "proven optimal" in output[2] and "The certificate holds" in output[2]
    assert "k_anonymity(k=5) holds" in output[3]
    assert output[4].count("permission denied") == 2


@pytest.mark.spark
@pytest.mark.slow
def test_the_way_through_spark(tmp_path: Path) -> None:
    pytest.importorskip("sqlanon.engines.spark.engine", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    text = section("Spark")
    [policy] = blocks(text, "yaml")
    (tmp_path / "spark.yaml").write_text(policy, encoding="utf-8")
    install, *steps = blocks(text, "sh")
    assert install == "python -m pip install 'sqlanon[spark]'\n"
    defaults = tmp_path / "conf" / "spark-defaults.conf"  # of a cluster that warms up quickly
    defaults.parent.mkdir()
    defaults.write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()), encoding="utf-8")
    environment = os.environ | {"SPARK_CONF_DIR": str(defaults.parent)}
    output = follow(tmp_path, [quick(step) for step in steps], environment)
    assert "proven optimal" in output[1] and "k_anonymity(k=5) holds" in output[1]
    released = tmp_path / "released.parquet"
    assert released.is_dir() and all(file.suffix == ".parquet" for file in released.iterdir())


def quick(step: str) -> str:
    """The demo with fewer records: the way is the same."""
    return step.replace("sqlanon demo demo", "sqlanon demo demo --records 5000")


def test_the_table_of_what_engines_lack_is_what_they_declare() -> None:
    from sqlanon.engines.described import capability_table
    from sqlanon.engines.duckdb.engine import DuckDBEngine
    from sqlanon.engines.spark.facts import CAPABILITIES
    from sqlanon.engines.sqlite.engine import SQLiteEngine

    module = pytest.importorskip("sqlanon.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
    engines = [DuckDBEngine.capabilities, module.PostgresEngine.capabilities, SQLiteEngine.capabilities, CAPABILITIES]
    reported = section("What each engine lacks").split("<!-- capabilities -->\n")[1].split("<!-- end -->")[0]
    assert reported == capability_table(engines)
