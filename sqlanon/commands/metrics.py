"""``sqlanon run --metrics``: a line of JSON for each phase of a run and one for the run, appended for the operator."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlanon.core.disk.modes import PRIVATE
from sqlanon.core.disk.writing import directory_refusals
from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.errors import TargetError

OF_RELEASE = (
    "records", "published", "suppressed", "excluded", "entities", "classes", "smallest_class", "loss", "optimal",
    "evaluated", "statements", "ledger", "periods", "cohorts",
)  # fmt: skip
"""What the line of a run takes from the document of ``run --json``."""
BEGINS = b'{"time": "'
"""How a file of metrics begins; no other file is appended to."""


@dataclass(slots=True)
class Spent:
    """The time that a phase took, in all.

    Attributes:
        began: when it began first, in seconds since 1970.
        seconds: by the clock.
        processor: seconds of the processor, of all threads of this process; those of a database server are not known.
    """

    began: float
    seconds: float = 0.0
    processor: float = 0.0


class Phases:
    """The phases of a run, in the order in which they began.

    Attributes:
        spent: by the name of the phase.
        total: the run in all, so far.
    """

    def __init__(self) -> None:
        self.spent: dict[str, Spent] = {}
        self._since = self._start = (time.perf_counter(), time.process_time())
        self._began = time.time()
        self._phase = ""

    @property
    def total(self) -> Spent:
        seconds, processor = self._start
        return Spent(self._began, time.perf_counter() - seconds, time.process_time() - processor)

    def watching(self, watch: Watcher | None) -> Watcher:
        """Return a watcher that times the phases, and hands them on to another."""

        def timed(step: Step) -> None:
            if step.phase != self._phase:
                self.turn_to(step.phase)
            if watch is not None:
                watch(step)

        return timed

    def turn_to(self, phase: str) -> None:
        """End the phase that runs, and begin another; none if its name is empty."""
        now = (time.perf_counter(), time.process_time())
        if self._phase:
            spent = self.spent[self._phase]
            spent.seconds += now[0] - self._since[0]
            spent.processor += now[1] - self._since[1]
        if phase:
            self.spent.setdefault(phase, Spent(time.time()))
        self._phase, self._since = phase, now


@dataclass(slots=True)
class Metrics:
    """The measurements of one run.

    Attributes:
        path: the file to which its lines are appended.
        policy: the name of the policy's file.
        run: the id of the run, which its events of lineage have too.
        creates: whether the file may be created: it was compared with the other files of the run.
        document: that of ``run --json``, once there is one.
    """

    path: Path
    policy: str
    run: str = field(default_factory=lambda: str(uuid4()))
    phases: Phases = field(default_factory=Phases)
    creates: bool = False
    document: Mapping[str, Any] = field(default_factory=dict)

    def write(self, code: int, error: BaseException | None) -> None:
        """Append the lines of the run, in one write.

        Args:
            code: its exit code.
            error: what ended it, of which only the class is written.

        Raises:
            TargetError: see ``append``.
        """
        self.phases.turn_to("")
        outcome = {"outcome": self._outcome(code, error), "exit_code": code}
        outcome |= {} if error is None else {"error": type(error).__name__}
        lines = [self._line(phase, spent) for phase, spent in self.phases.spent.items()]
        lines.append(self._line("run", self.phases.total) | outcome | self._facts())
        append(self.path, "".join(json.dumps(line) + "\n" for line in lines), creates=self.creates)

    def _outcome(self, code: int, error: BaseException | None) -> str:
        if self.document.get("unchanged"):
            return "unchanged"
        if self.document.get("output"):  # what follows may fail
            return "published"
        if error is not None:
            return "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        return "planned"

    def _line(self, phase: str, spent: Spent) -> dict[str, Any]:
        began = datetime.fromtimestamp(spent.began, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        seconds = {"seconds": round(spent.seconds, 6), "processor_seconds": round(spent.processor, 6)}
        return {"time": began, "run": self.run, "policy": self.policy, "phase": phase, **seconds}

    def _facts(self) -> dict[str, Any]:
        facts = {name: self.document[name] for name in OF_RELEASE if self.document.get(name) is not None}
        if "ledger" in facts:
            facts["ledger"] = {key: value for key, value in facts["ledger"].items() if key != "file"}
        written = self.document.get("output", {})
        places = [Path(written[kind]) for kind in ("file", "folder") if kind in written]
        return facts | ({"bytes_written": sum(map(_bytes, places))} if places else {})


def append(path: Path, text: str, *, creates: bool) -> None:
    """Append to a file of metrics; its owner alone reads a new one.

    Args:
        creates: whether it is created; otherwise nothing is done where it is not there.

    Raises:
        TargetError: there is another file, or it cannot be written.
    """
    if not creates and not os.path.lexists(path):
        return
    with directory_refusals(path):
        opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), PRIVATE)
        try:
            regular = stat.S_ISREG(os.fstat(opened).st_mode)
            ours = regular and os.read(opened, len(BEGINS)) in (b"", BEGINS)
            if ours:
                os.write(opened, text.encode())
        finally:
            os.close(opened)
    if not ours:
        raise TargetError(f"{path.name!r} is there, and is no file of metrics.", hint="name another file.")


def _bytes(place: Path) -> int:
    """Return the bytes of a file, or of the files of a folder."""
    files: Iterator[Path] = place.rglob("*") if place.is_dir() else iter([place])
    return sum(file.stat().st_size for file in files if file.is_file())
