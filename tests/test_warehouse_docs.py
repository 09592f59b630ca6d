"""What docs/warehouse.md shows runs as it is printed, from an empty server to a granted, audited view."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_server import Server, binaries, postgres  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "warehouse.md").read_text(encoding="utf-8")

pytest.importorskip("sqlanon.engines.postgres", reason="the driver of PostgreSQL is not installed")


def section(title: str) -> str:
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_way_to_a_granted_view(postgres: Server, tmp_path: Path) -> None:  # noqa: F811
    programs = binaries()
    assert programs is not None
    if shutil.which("psql", path=str(programs)) is None:
        pytest.skip("psql is not installed")
    text = section("PostgreSQL")
    [policy] = blocks(text, "yaml")
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    install, *steps = blocks(text, "sh")
    assert install.startswith("python -m pip install 'sqlanon[postgres]'")
    path = os.pathsep.join([str(Path(sys.executable).parent), str(programs), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {
        "PATH": path, "PGHOST": str(postgres.folder), "PGUSER": postgres.user, "PGDATABASE": postgres.database,
    }  # fmt: skip
    script = "set -eu\n" + "\n".join(f"echo '--- step'\n{step}" for step in steps)
    script = script.replace("sqlanon ", f"{sys.executable} -m sqlanon.cli ")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-3000:])
    told = done.stdout.split("--- step\n")
    assert len(told) == len(steps) + 1
    assert "proven optimal" in told[3] and "The certificate holds" in told[3]
    assert "k_anonymity(k=5) holds" in told[4]
    assert told[5].count("permission denied") == 2
