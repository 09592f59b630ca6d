"""The command line, as a user calls it: in a process of its own, or, in the fast tier, in this one."""

from __future__ import annotations

import subprocess
import sys

import effort
from click.testing import CliRunner

from sqlanon.cli import main


def sqlanon(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command of sqlanon and return its exit code and what it printed."""
    texts = [*map(str, arguments)]
    if not effort.is_fast():
        command = [sys.executable, "-m", "sqlanon.cli", *texts]
        return subprocess.run(command, capture_output=True, text=True, check=False)
    result = CliRunner().invoke(main, texts)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return subprocess.CompletedProcess(texts, result.exit_code, result.stdout, result.stderr)
