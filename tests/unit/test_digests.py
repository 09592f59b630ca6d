"""The digest of a folder tells all that it holds apart."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sqlanon.core.disk.digests import digest_of


@pytest.mark.skipif(sys.platform == "win32", reason="no such names")
def test_a_name_of_two_lines_does_not_stand_for_a_file_that_was_taken_away(tmp_path: Path) -> None:
    whole, forged = tmp_path / "whole", tmp_path / "forged"
    whole.mkdir()
    (whole / "a").write_text("1")
    (whole / "b").write_text("2")
    forged.mkdir()
    (forged / f"a\n{digest_of(whole / 'b')}  b").write_text("1")
    assert digest_of(whole) != digest_of(forged)


@pytest.mark.skipif(shutil.which("sha256sum") is None or sys.platform == "win32", reason="needs sha256sum")
def test_the_digest_is_that_of_what_sha256sum_prints(tmp_path: Path) -> None:
    for name in ("a\nb", "a\\b", "ü ", "c"):
        (tmp_path / name).write_text(name)
    names = sorted(entry.name.encode() for entry in tmp_path.iterdir())
    printed = subprocess.run(["sha256sum", *names], cwd=tmp_path, capture_output=True, check=True).stdout
    assert digest_of(tmp_path) == hashlib.sha256(printed).hexdigest()
