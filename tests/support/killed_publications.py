"""Kill a publication before each of its system calls that change files, and look at what stands there then.

Run as a script: ``killed_publications.py FOLDER SCENARIO`` prints a JSON document per kill point.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlanon.core.disk import renames
from sqlanon.core.publish.papers import CERTIFICATE, MANIFEST, Papers, check_papers
from sqlanon.core.publish.workplace import Workplace
from sqlanon.errors import InputError

CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.truncate", "os.link")
"""Audit events of system calls that change files; ``shutil.rmtree`` consists of some."""
SCENARIOS: dict[str, dict[str, Any]] = {
    "first": {"old": None, "certificate": True, "if_exists": "error"},
    "replace": {"old": True, "certificate": True, "if_exists": "replace"},
    "replace without a certificate": {"old": True, "certificate": False, "if_exists": "replace"},
    "replace one without a certificate": {"old": False, "certificate": True, "if_exists": "replace"},
    "without exchange": {"old": True, "certificate": True, "if_exists": "replace", "exchange": False},
}


def publish(path: Path, text: str, *, certificate: bool, if_exists: str, folder: bool) -> None:
    """Publish ``text`` as a release, a file or a folder of partitions, with papers that quote it."""
    with closing(Workplace.claim(path)) as workplace:
        if folder:
            workplace.partial.mkdir()
            for name in ("year=1", "year=2"):
                (workplace.partial / name).mkdir()
                (workplace.partial / name / "data_0.parquet").write_text(text)
        else:
            workplace.partial.write_text(text)
        workplace.prepare(Papers({"of": text}, {"of": text, "boxes": []} if certificate else None), None)
        workplace.put_in_place(if_exists=if_exists)


def seen(path: Path) -> dict[str, Any]:
    """What a reader sees: whose release, manifest and certificate are there, and whether they are known to fit."""
    data = path / "year=1/data_0.parquet" if path.is_dir() else path
    papers = {ending: path.with_name(path.name + ending) for ending in (MANIFEST, CERTIFICATE)}
    try:
        fits: bool | None = check_papers(path).holds
    except InputError:
        fits = None
    return {
        "release": data.read_text() if data.exists() else None,
        **{ending: json.loads(paper.read_text())["of"] if paper.exists() else None for ending, paper in papers.items()},
        "fits": fits,
    }


def killed(before: int, work: Callable[[], None]) -> bool:
    """Run ``work`` in a child that is killed before its n-th change of a file; return False if it came to its end."""
    child = os.fork()
    if child == 0:
        left = [before]

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            if event not in CHANGES or (event == "open" and not int(arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)):
                return
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(directory: Path, name: str, *, folder: bool, twice: bool) -> None:
    """Print what is seen after every kill, and after the next who takes over was killed at every point too."""
    scenario = SCENARIOS[name]
    if not scenario.get("exchange", True):
        renames._rename = lambda *_: False
    options = {"certificate": scenario["certificate"], "if_exists": scenario["if_exists"], "folder": folder}
    point, path, ended = 0, directory, False
    while not ended:
        second = 0
        while True:
            place = directory / f"{point}-{second}"
            place.mkdir()
            path = place / "r.parquet"
            if scenario["old"] is not None:
                publish(path, "old", certificate=scenario["old"], if_exists="error", folder=folder)
            ended = not killed(point, lambda path=path: publish(path, "new", **options))
            after = seen(path)
            again = twice and killed(second, lambda path=path: Workplace.claim(path).close())
            between = seen(path) if again else after
            Workplace.claim(path).close()
            print(json.dumps([after, between, seen(path), sorted(entry.name for entry in place.iterdir())]))
            second += 1
            if not again or ended:
                break
        point += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], folder="folder" in sys.argv[3:], twice="twice" in sys.argv[3:])
