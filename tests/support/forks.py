"""Commands of sqlanon in forks of a process that has imported it: shells that start many save half a second for each.

``python forks.py PLACE`` serves, ``python forks.py PLACE ARGUMENTS...`` is a command: it hands its streams, folder and
environment over, and ends with the code of its fork. ``SQLANON_PROCESSES=1`` starts a process for each command instead.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import cache


@cache
def started() -> str:
    """Return how a shell starts a command of sqlanon."""
    import atexit  # a command needs none of these
    import shutil
    import subprocess
    import tempfile
    import time
    from pathlib import Path

    if os.environ.get("SQLANON_PROCESSES") or not hasattr(os, "fork"):
        return f"{sys.executable} -m sqlanon.cli"
    folder = tempfile.mkdtemp(prefix="forks", dir="/tmp")  # sockets: 107 bytes
    serving = [sys.executable, __file__, f"{folder}/socket"]
    root = str(Path(__file__).resolve().parents[2])
    server = subprocess.Popen(serving, env=os.environ | {"PYTHONPATH": root}, stdin=subprocess.DEVNULL)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.kill)
    while not Path(folder, "socket").exists():
        assert server.poll() is None
        time.sleep(0.02)
    return f"{sys.executable} -S {__file__} {folder}/socket"


def serve(place: str) -> None:
    """Run each command that is asked for at a socket, in a fork of its own, as long as the parent lives."""
    import sqlanon.commands.run
    import sqlanon.core.anonymizer  # noqa: F401
    from sqlanon.cli import start

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{place}.new")
        listening.listen(64)
        os.rename(f"{place}.new", place)  # whoever sees it is answered
        listening.settimeout(1)
        while os.getppid() == parent:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                answer(connection, start)
                os._exit(0)
            connection.close()


def answer(connection: socket.socket, start: Callable[[], object]) -> None:
    """Run one command and send its code."""
    text, files, *_ = socket.recv_fds(connection, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += connection.recv(1 << 16)
    asked = json.loads(text)
    child = os.fork()
    if child == 0:
        connection.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.argv[:] = ["sqlanon", *asked["arguments"]]
        code: object = 1
        try:
            code = start()
        except SystemExit as error:
            code = error.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code if isinstance(code, int) else int(code is not None))
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())


def ask(place: str, arguments: list[str]) -> int:
    """Return the code with which a command ended."""
    asked = {"folder": os.getcwd(), "environment": {**os.environ}, "arguments": arguments}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        text = json.dumps(asked).encode() + b"\n"
        sent = socket.send_fds(connection, [text], [0, 1, 2])
        connection.sendall(text[sent:])
        return int(connection.recv(16) or b"1")


if __name__ == "__main__":
    if sys.argv[2:]:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
