"""An interrupted run publishes nothing and replaces nothing, unless it was asked to; what it knew is said."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner, Result
from interrupts import interrupted_after

import sqlanon
from sqlanon.cli import main
from sqlanon.commands import run_beside
from sqlanon.commands.demo_world import generate
from sqlanon.commands.signals import as_interrupts
from sqlanon.core import highs
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.journal import Step
from sqlanon.core.engines.sqlite.engine import SQLiteEngine
from sqlanon.core.evaluate.evaluator import Evaluator
from sqlanon.core.interrupts import finishing, held, interruptible, no_return
from sqlanon.core.publish import files, publication
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.papers import CERTIFICATE, MANIFEST
from sqlanon.core.publish.workplace import Workplace
from sqlanon.recoding.local.insertion import _Choice

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
STOPPED = 6
"""The batch of the demo's search that is interrupted: it has found a node, but not the best one."""
OPTIMUM = 0.5527277
"""What the best node of the demo loses."""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """The policy of a small demo, beside an old release of other content, with its papers."""
    path = generate(tmp_path / "demo", records=1_000)
    path.write_text(path.read_text() + "engine: {threads: 1}\n")  # the batches of a search depend on it
    for ending in ("", MANIFEST, CERTIFICATE):
        (path.parent / f"released.parquet{ending}").write_text(f"the old release{ending}")
    (path.parent / "report.html").write_text("the old report")
    return path


def contents(policy: Path) -> dict[str, bytes]:
    """Every file of the demo's folder and of the folders in it."""
    return {str(path): path.read_bytes() for path in sorted(policy.parent.rglob("*")) if path.is_file()}


def before_call(number: int, action: Callable[[], object]) -> Callable[[Any], Any]:
    """Let an action happen before the call of that number of a function, from 1."""

    def wrapped(function: Any) -> Any:
        calls = iter(range(1, 1_000_000))

        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == number:
                action()
            return function(*arguments, **options)

        return call

    return wrapped


@pytest.fixture(autouse=True)
def no_signal_is_ignored() -> Iterator[None]:
    """A process that was started by ``nohup`` ignores SIGHUP, and a command leaves it so."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def interrupted(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, number: int, sent: int = signal.SIGINT
) -> None:
    """Send this process a signal when a function is called for the so many-th time."""
    wrapped = before_call(number, lambda: signal.raise_signal(sent))(getattr(owner, name))
    monkeypatch.setattr(owner, name, wrapped)


def run(policy: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["run", str(policy), *options])


@pytest.mark.slow
@pytest.mark.parametrize("sent", SIGNALS)
def test_an_interrupted_search_publishes_nothing_and_says_what_it_had_found(
    policy: Path, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    before = contents(policy)
    interrupted(monkeypatch, Evaluator, "judge", STOPPED, sent)
    result = run(policy)
    assert result.exit_code == SIGNALS[sent]
    assert contents(policy) == before
    assert result.stdout == ""
    for word in (
        "nothing was published",
        "so far loses 0.",
        "% of the optimum",
        "--on-interrupt publish",
        "time_limit",
    ):
        assert word in result.stderr


def test_json_is_one_document_with_the_best_node(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch, Evaluator, "judge", STOPPED)
    result = run(policy, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["error"], document["published"]) == (130, "Interrupted", False)
    best = document["incumbent"]
    assert best["lower_bound"] < OPTIMUM + 1e-6 and OPTIMUM < best["loss"] < 1
    assert best["gap"] == pytest.approx(1 - best["lower_bound"] / best["loss"])
    assert set(best["levels"]) == {c.name for c in sqlanon.Policy.from_file(policy).quasi_identifiers}


@pytest.mark.slow
def test_an_interrupt_before_any_solution_is_none_of_the_policy(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ((), ("--on-interrupt", "publish")):
        with monkeypatch.context() as patched:
            interrupted(patched, Evaluator, "judge", 1)
            result = run(policy, "--json", *options)
        document = json.loads(result.stdout)
        assert (result.exit_code, document["error"], document["incumbent"]) == (130, "Interrupted", None)
        assert (policy.parent / "released.parquet").read_text() == "the old release"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["option", "policy"])
def test_what_an_interrupted_search_has_found_is_published_when_that_is_asked_for(
    policy: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "policy":
        policy.write_text(policy.read_text() + "search: {on_interrupt: publish}\n")
    interrupted(monkeypatch, Evaluator, "judge", STOPPED)
    result = run(policy, "--json", *(["--on-interrupt", "publish"] if by == "option" else []))
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document["optimal"] is False and 0 < document["gap"] < 1
    released = str(policy.parent / "released.parquet")
    assert duckdb.sql(f"SELECT COUNT(*) FROM '{released}'").fetchall() == [(document["published"],)]
    assert sqlanon.verify(released + CERTIFICATE, sqlanon.Policy.from_file(policy)).holds


@pytest.mark.slow
def test_python_raises_a_keyboard_interrupt_with_the_best_node(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, before = sqlanon.Policy.from_file(policy), contents(policy)
    for verb in (sqlanon.anonymize, sqlanon.plan):
        with monkeypatch.context() as patched:
            interrupted(patched, Evaluator, "judge", STOPPED)
            with pytest.raises(KeyboardInterrupt) as raised:
                verb(None, loaded)
        assert isinstance(raised.value, sqlanon.Interrupted) and not raised.value.published
        assert raised.value.incumbent is not None and raised.value.incumbent["loss"] > OPTIMUM
    assert contents(policy) == before


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name"), [(Draft, "audit"), (files, "write_flat"), (publication, "ordered")])
def test_an_interrupt_while_the_release_is_written_or_audited_leaves_nothing(
    policy: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    before = contents(policy)
    interrupted(monkeypatch, owner, name, 1, signal.SIGTERM)
    result = run(policy, "--json", "--on-interrupt", "publish")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["error"], document["published"]) == (143, "Interrupted", False)
    assert "othing was published" in result.stderr
    assert contents(policy) == before


@pytest.mark.slow
def test_a_second_interrupt_does_not_keep_partial_files(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(policy)
    removed = Path.unlink

    def unlink(path: Path, *arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        removed(path, *arguments)

    def audit(*_: Any) -> None:
        monkeypatch.setattr(Path, "unlink", unlink)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Draft, "audit", audit)
    assert run(policy).exit_code == 130
    assert contents(policy) == before


@pytest.mark.slow
def test_an_interrupt_that_comes_too_late_says_that_the_release_stands(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, Workplace, "_swap", 1)
    result = run(policy, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["error"], document["published"]) == (130, "Interrupted", True)
    assert "it was published" in result.stderr
    released = str(policy.parent / "released.parquet")
    assert duckdb.sql(f"SELECT COUNT(*) FROM '{released}'").fetchall()[0][0] > 900
    assert json.loads(Path(released + MANIFEST).read_text())["ledger"]
    assert sqlanon.verify(released + CERTIFICATE, sqlanon.Policy.from_file(policy)).holds


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "published"), [("rename", False), ("COMMIT", True)])
@pytest.mark.parametrize("kind", ["table", "view", "live_view"])
def test_a_transaction_is_committed_whole_or_rolled_back(
    policy: Path, monkeypatch: pytest.MonkeyPatch, kind: str, statement: str, published: bool
) -> None:
    text = policy.read_text().replace("{file: released.parquet}", f"{{{kind}: released}}")
    policy.write_text(text.replace("length_of_stay: {role: keep}", "length_of_stay: {role: drop}"))
    if kind == "live_view" and statement == "rename":
        statement = "count written rows"
    real = DuckDBEngine.run

    def call(engine: DuckDBEngine, name: str, tree: Any, *arguments: Any) -> Any:
        if statement in (name, tree):
            signal.raise_signal(signal.SIGINT)
        return real(engine, name, tree, *arguments)

    monkeypatch.setattr(DuckDBEngine, "run", call)
    result = run(policy, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["error"], document["published"]) == (130, "Interrupted", published)
    with duckdb.connect(policy.parent / "hospital.duckdb") as database:
        there = [name for (name,) in database.execute("SELECT table_name FROM information_schema.tables").fetchall()]
        assert ("released" in there) == published
        assert published or there == ["discharges"]


@pytest.mark.slow
def test_an_interrupt_after_publication_says_that_the_release_stands(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(monkeypatch, run_beside, "write_report", 1)
    result = run(policy, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["published"]) == (130, True)
    assert Path(f"{policy.parent}/released.parquet{MANIFEST}").read_text() != f"the old release{MANIFEST}"


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--on-interrupt", "publish"), ()])
def test_local_recoding_that_is_interrupted_publishes_only_when_asked_to(
    policy: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    policy.write_text(policy.read_text() + "transformation: {type: local_recoding, nodes: 4, seed: 1}\n")
    before = contents(policy)
    interrupted(monkeypatch, _Choice, "_climb", 2)
    result = run(policy, "--json", *options)
    document = json.loads(result.stdout)
    if options:
        assert result.exit_code == 0 and contents(policy) != before
        assert 0 < document["loss"] < document["transformation"]["full_domain"]["loss"]
    else:
        assert result.exit_code == 130 and contents(policy) == before
        assert document["incumbent"]["loss"] < OPTIMUM and document["incumbent"]["gap"] is None


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--on-interrupt", "publish"), ()])
def test_an_exact_solution_that_is_interrupted_publishes_only_when_asked_to(
    policy: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    pytest.importorskip("highspy", reason="the solver is not installed")

    document = yaml.safe_load(policy.read_text())
    del document["suppression_limit"]
    document["columns"] |= {name: {"role": "drop"} for name in ("zip", "admission_date")}
    document["transformation"] = {"type": "patterns", "at_most": 4, "outliers": True, "solver": "exact"}
    policy.write_text(yaml.safe_dump(document, sort_keys=False))
    before = contents(policy)

    def begun(work: Any, cancel: Any) -> Any:
        with interrupted_after(0.5):  # this program takes far longer
            return interruptible(work, cancel)

    monkeypatch.setattr(highs, "interruptible", begun)
    result = run(policy, "--json", *options)
    document = json.loads(result.stdout)
    if options:
        assert result.exit_code == 0 and document["gap"] > 0 and not document["optimal"]
        assert contents(policy) != before
    else:
        assert result.exit_code == 130 and contents(policy) == before
        assert 0 < document["incumbent"]["gap"] < 1 and 0 < document["incumbent"]["loss"] < 1


@pytest.mark.slow
def test_a_proof_of_counts_says_how_far_it_is_and_ends_at_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("highspy", reason="the solver is not installed")
    draw = random.Random(5)
    cells = [(i, j, k) for i in range(9) for j in range(9) for k in range(4)]
    times = {cell: draw.choice([0, 1, 2, 3, 4, 6, 9, 14, 20]) for cell in cells}
    rows = "".join(f"{i},{j},{k}\n" * number for (i, j, k), number in times.items())
    (tmp_path / "t.csv").write_text(f"a,b,c\n{rows}")
    document = {"source": str(tmp_path / "t.csv"), "counts": {"t": {"dimensions": ["a", "b", "c"]}}}
    (tmp_path / "c.json").write_text(json.dumps(document | {"time_limit": 60, "output": {"file": "released.csv"}}))
    steps: list[Step] = []
    found = sqlanon.counts(None, document | {"time_limit": 16}, watch=steps.append)
    proof = [step for step in steps if step.unit == "cuts"]
    assert proof[-1].done > proof[0].done and proof[-1].lower_bound == found.protection.lower_bound > 0
    assert all(step.loss >= step.lower_bound for step in proof if step.loss and step.lower_bound)
    before = contents(tmp_path / "c.json")

    def begun(work: Any, cancel: Any) -> Any:
        with interrupted_after(0.3):  # the program in whole numbers takes longer
            return interruptible(work, cancel)

    monkeypatch.setattr(highs, "interruptible", begun)
    began = time.monotonic()
    result = CliRunner().invoke(main, ["counts", str(tmp_path / "c.json"), "--json"])
    assert result.exit_code == 130 and json.loads(result.stdout)["error"] == "Interrupted"
    assert contents(tmp_path / "c.json") == before and time.monotonic() - began < 30


@pytest.mark.slow
def test_greedy_patterns_and_a_verification_end_at_an_interrupt(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.core.verifying import Verifier
    from sqlanon.recoding.local import pattern_plan

    with monkeypatch.context() as patched:
        interrupted(patched, Verifier, "_judge", 2)
        assert run(policy, "--json").exit_code == 0
        certificate = str(policy.parent / f"released.parquet{CERTIFICATE}")
        result = CliRunner().invoke(main, ["verify", certificate, str(policy), "--json"])
    assert result.exit_code == 130 and json.loads(result.stdout)["error"] == "Interrupted"
    text = policy.read_text().replace("suppression_limit: 0.05\n", "")
    policy.write_text(text + "transformation: {type: patterns, at_most: 2, outliers: true}\n")
    before = contents(policy)
    interrupted(monkeypatch, pattern_plan, "accounted", 1)
    assert run(policy, "--on-interrupt", "publish").exit_code == 130
    assert contents(policy) == before


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize(
    ("open_engine", "endless"),
    [
        (DuckDBEngine, "SELECT COUNT(*) FROM range(1000000000000) AS r(n) WHERE n % 7 = 3"),
        (SQLiteEngine, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM c"),
    ],
)
def test_every_signal_stops_the_statement_that_runs(open_engine: Any, endless: str, sent: int) -> None:
    with closing(open_engine()) as engine, as_interrupts() as received:
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.2, sent):
            engine.run("endless", endless)
        assert received.exit_code == SIGNALS[sent]


def test_work_that_waits_outside_of_python_is_cancelled_and_has_ended() -> None:
    """The first cancellation comes before there is anything to cancel."""
    begun, stopped, ended = threading.Event(), threading.Event(), threading.Event()
    cancelled = []

    def work() -> None:
        begun.set()
        assert stopped.wait(60)
        time.sleep(0.05)
        ended.set()

    def cancel() -> None:
        cancelled.append(1)
        if len(cancelled) > 1:
            stopped.set()

    def interrupt() -> None:
        begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, cancel)
    assert ended.is_set() and len(cancelled) >= 2
    assert interruptible(lambda: 7, cancel) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, cancel)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_work_is_done_while_python_ends_and_in_a_fork() -> None:
    code = (
        "import atexit, os; from sqlanon.core.interrupts import interruptible as do; do(int)\n"
        "child = os.fork(); print(do(lambda: 7), flush=True)\n"
        "os.waitpid(child, 0) if child else os._exit(0)\n"
        "atexit.register(lambda: print(do(lambda: 8)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.split(), done.stderr) == (["7", "7", "8"], "")


def test_an_interrupt_waits_for_what_must_not_be_cut_in_two() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        with held():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with pytest.raises(sqlanon.Interrupted, match="it stands") as raised, finishing("it stands"):
        no_return()
        signal.raise_signal(signal.SIGINT)
        done.append("published")
    assert done[-1] == "published" and raised.value.published
    with pytest.raises(ZeroDivisionError), finishing("it stands"):
        no_return()
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError
    with suppress(KeyboardInterrupt), finishing("it stands"):
        signal.raise_signal(signal.SIGINT)
        done.append("never")
    assert done[-1] == "published"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    class Collected:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)
            sum(range(10))

    with as_interrupts(), pytest.raises(KeyboardInterrupt):
        Collected()
        time.sleep(60)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_interrupts():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_stopped_in_the_middle_leaves_its_folder_as_it_was(policy: Path, sent: int) -> None:
    """The signal comes from another process, while the release is being audited."""
    before = contents(policy)
    script = (
        "import sys, time; from sqlanon.core.publish.draft import Draft; from sqlanon.cli import main\n"
        "def wait(*_):\n print('auditing', file=sys.stderr, flush=True); time.sleep(60)\n"
        "Draft.audit = wait; main()"
    )
    command = [sys.executable, "-c", script, "run", str(policy), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "auditing" not in (line := process.stderr.readline()):
            assert line, "the run ended before its audit"
        assert len(contents(policy)) > len(before)  # the partial file
        os.kill(process.pid, sent)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == SIGNALS[sent] and json.loads(output)["error"] == "Interrupted"
    assert contents(policy) == before


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot interrupt itself there")
@pytest.mark.parametrize("program", ["script", "module"])
@pytest.mark.parametrize("late", [False, True], ids=["while it begins", "while it ends"])
def test_an_interrupt_outside_commands_ends_without_a_traceback(tmp_path: Path, program: str, late: bool) -> None:
    """The interrupt comes while click is imported, or in an exit function after the command."""
    interrupt = "import os, signal, time\ndef stop(): os.kill(os.getpid(), signal.SIGINT); time.sleep(5)\n"
    modules = tmp_path / "modules"
    modules.mkdir()
    if late:
        (modules / "sitecustomize.py").write_text(f"import atexit\n{interrupt}atexit.register(stop)")
    else:
        (modules / "click.py").write_text(f"{interrupt}stop()")
    (tmp_path / "sqlanon").write_text("from sqlanon.cli import start\nstart()\n")  # as an installation writes it
    words = ["-m", "sqlanon.cli"] if program == "module" else [str(tmp_path / "sqlanon")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(modules), str(Path(__file__).parents[2])])}
    done = subprocess.run(
        [sys.executable, *words, "--version"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")
