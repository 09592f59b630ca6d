"""The command line, as a user calls it: in this process, which costs a tenth of a process of its own.

``SQLANON_PROCESSES=1`` in the environment starts a process for each call, as every night does. What only a process can
show (signals, streams, exit) is tested by those that start one themselves.
"""

import os
import subprocess
import sys

from click.testing import CliRunner

from sqlanon.cli import main


def sqlanon(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command of sqlanon and return its exit code and what it printed."""
    texts = [*map(str, arguments)]
    if os.environ.get("SQLANON_PROCESSES"):
        command = [sys.executable, "-m", "sqlanon.cli", *texts]
        return subprocess.run(command, capture_output=True, text=True, check=False)
    result = CliRunner().invoke(main, texts)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return subprocess.CompletedProcess(texts, result.exit_code, result.stdout, result.stderr)
