"""The command line in a shell: pipes, terminals, colours, what is printed where, and what a shell completes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import forks
import pytest
from click.testing import CliRunner
from command_line import sqlanon

from sqlanon.cli import main
from sqlanon.commands import usage_shell
from sqlanon.commands.versions import PACKAGES
from sqlanon.core.search import STRATEGIES

UNCOLOURED = {name: value for name, value in os.environ.items() if not name.endswith("_COLOR")}
COLOUR = "\x1b["
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a shell and a pseudo terminal of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small source, its policy, and one that cannot be met; it is the working directory."""
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{i % 4},{i % 3},{i}\n" for i in range(120)))
    hidden = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
    document = {"source": "t.csv", "columns": {"a": hidden, "b": hidden, "c": {"role": "drop"}},
                "privacy": [{"type": "k_anonymity", "k": 5}], "output": {"file": "r.csv"},
                "if_exists": "replace"}  # fmt: skip
    (tmp_path / "p.json").write_text(json.dumps(document))
    (tmp_path / "never.json").write_text(json.dumps({**document, "privacy": [{"type": "k_anonymity", "k": 500}]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, in which ``sqlanon`` is the command."""
    prelude = f'sqlanon() {{ {forks.started()} "$@"; }}\n'
    environment = {**UNCOLOURED, **variables}
    return subprocess.run(["sh", "-c", prelude + line], capture_output=True, text=True, env=environment, check=False)


def on_terminal(*arguments: str, **variables: str) -> str:
    """Run a command on a pseudo terminal, and return what that shows."""
    import pty

    own, other = pty.openpty()
    command = [*forks.started().split(), *arguments]
    environment = {**UNCOLOURED, "TERM": "xterm", **variables}
    with subprocess.Popen(command, stdout=other, stderr=other, stdin=other, env=environment) as process:
        os.close(other)
        shown = b""
        while True:
            try:
                part = os.read(own, 4096)
            except OSError:  # Linux says so at the end
                break
            if not part:
                break
            shown += part
        os.close(own)
        process.wait()
    return shown.decode()


def leaves(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found += leaves(command, *path, name) if isinstance(command, click.Group) else [(*path, name)]
    return found


# --- quiet and verbose ---


@pytest.mark.parametrize("where", [("-q", "run", "p.json"), ("run", "p.json", "--quiet"), ("--quiet", "run", "p.json")])
def test_a_quiet_run_prints_nothing_and_publishes(where: tuple[str, ...], folder: Path) -> None:
    done = sqlanon(*where)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "r.csv").exists()


@pytest.mark.slow
def test_a_quiet_command_prints_its_document_its_warnings_and_its_errors(folder: Path) -> None:
    assert json.loads(sqlanon("run", "p.json", "--quiet", "--json").stdout)["records"] == 120
    failed = sqlanon("run", "never.json", "--quiet")
    assert failed.returncode == 1 and not failed.stdout and failed.stderr.startswith("NoSolutionError: ")
    assert sqlanon("explain", "p.json", "--quiet").stdout == sqlanon("explain", "p.json").stdout != ""
    warned = sqlanon("run", "p.json", "-q", "--certificate", "c.json")
    assert not warned.stdout and "Warning: " in warned.stderr and "c.json" in warned.stderr


@pytest.mark.parametrize(("k", "code"), [(5, 0), (500, 1)])
def test_a_quiet_check_answers_by_its_exit_code(k: int, code: int, folder: Path) -> None:
    loud = sqlanon("check", "t.csv", "--qi", "a,b", "--k", k)
    quiet = sqlanon("check", "t.csv", "--qi", "a,b", "--k", k, "-q")
    assert loud.returncode == quiet.returncode == code
    assert loud.stdout and not quiet.stdout + quiet.stderr


@pytest.mark.slow
def test_a_verbose_command_counts_statements_and_times_steps_on_standard_error(folder: Path) -> None:
    (folder / "t.csv").write_text((folder / "t.csv").read_text().replace("\n3,", "\ncanary,"))
    sqlanon("run", "p.json")  # the runs that are compared replace a release
    usual, done = sqlanon("run", "p.json", "--json"), sqlanon("run", "p.json", "--json", "-v")
    assert json.loads(done.stdout)["statements"] == json.loads(usual.stdout)["statements"]
    first, second, *statements = done.stderr.splitlines()
    assert "searching" in first and "publishing" in first and first.endswith(" s")
    assert int(second.split()[0]) == sum(int(line.split()[0]) for line in statements) > 10
    assert "canary" not in done.stderr and "SELECT" not in done.stderr
    assert not sqlanon("run", "p.json", "--json").stderr, "nothing is counted after it"
    failed = sqlanon("run", "never.json", "-q", "-v")
    assert failed.returncode == 1 and "statements, " in failed.stderr and not failed.stdout


# --- colours ---


@POSIX
@pytest.mark.slow
def test_colours_are_for_a_terminal(folder: Path) -> None:
    assert f"{COLOUR}31m" in on_terminal("run", "never.json")
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        assert "31m" not in on_terminal("-q", "run", "never.json", **variables), variables
    piped = shell("sqlanon run never.json; sqlanon run p.json")
    assert COLOUR not in piped.stdout + piped.stderr and "NoSolutionError: " in piped.stderr
    forced = shell("sqlanon -q run never.json", FORCE_COLOR="1")
    assert COLOUR in forced.stderr and COLOUR not in forced.stdout
    assert COLOUR not in shell("sqlanon -q run never.json", NO_COLOR="", FORCE_COLOR="").stderr


@POSIX
@pytest.mark.slow
def test_progress_is_for_a_terminal_that_is_not_quiet(folder: Path) -> None:
    assert "searching" in on_terminal("run", "p.json") or "publishing" in on_terminal("run", "p.json")
    assert not on_terminal("run", "p.json", "--quiet")
    assert not shell("sqlanon run p.json 2>&1 >/dev/null").stdout


# --- standard output and standard error ---


def test_messages_go_to_standard_error(folder: Path) -> None:
    for arguments in (("run", "never.json"), ("run", "nowhere.json"), ("run", "p.json", "--strategy", "none"),
                      ("check", "t.csv", "--qi", "x", "--k", 2), ("check", "t.csv"), ("verify", "c.json", "p.json"),
                      ("explain", "p.json", "--node", "9,9"), ("convert", "p.json", "p.json"),
                      ("hierarchy", "check", "t.csv"), ("ledger", "show", "no.duckdb"), ("no-such-command",),
                      ("run", "--no-such-option")):  # fmt: skip
        done = sqlanon(*arguments)
        assert done.returncode in (1, 2) and not done.stdout and done.stderr, arguments


# --- help, exit codes, versions ---


@pytest.mark.parametrize("path", [(), *leaves(main)], ids="-".join)
def test_the_help_lists_the_exit_codes(path: tuple[str, ...]) -> None:
    done = sqlanon(*path, "--help")
    _, _, codes = done.stdout.partition("Exit codes:\n")
    listed = [line.split()[0] for line in codes.splitlines() if line[2:3].isdigit()]
    nothing_new = ["3"] if path == ("run",) else []
    assert done.returncode == 0 and listed in (["0", "1", "2", *nothing_new, "130"], ["0", "2", "130"])
    assert "--quiet" in done.stdout and "--verbose" in done.stdout


def test_the_version_is_the_first_line_whatever_follows() -> None:
    short = sqlanon("--version")
    assert len(short.stdout.splitlines()) == 1 and short.stdout.startswith("sqlanon, version ")
    for order in (("--version", "-v"), ("-v", "--version"), ("--version", "--verbose")):
        first, *others = sqlanon(*order).stdout.splitlines()
        assert f"{first}\n" == short.stdout and {"python", "duckdb", "sqlglot", "pyarrow"} < {
            line.split()[0] for line in others
        }
    document = json.loads(sqlanon("versions", "--json").stdout)
    assert {"sqlanon", "python", "sqlite", *PACKAGES} <= document.keys() and document["duckdb"][0].isdigit()
    assert sqlanon("versions").stdout.splitlines()[1:] == others


# --- completion ---


def completed(*words: str, shell_name: str = "bash") -> list[str]:
    """What a shell is offered for the last of some words."""
    variables = {"_SQLANON_COMPLETE": f"{shell_name}_complete", "COMP_WORDS": " ".join(("sqlanon", *words)),
                 "COMP_CWORD": str(len(words)), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    code = "from sqlanon.cli import main; main(prog_name='sqlanon')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, **variables})  # fmt: skip
    assert not done.stderr
    return [line.partition(",")[2] if "," in line else line for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_commands_options_policies_and_strategies_are_completed(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "q.yaml").write_text("")
    assert completed("ver") == ["verify", "versions"]
    assert completed("run", "--str") == ["--strategy"]
    assert completed("run", "p.json", "--strategy", "flash") == ["flash", "flash_two_phase"]
    assert completed("run", "") == ["never.json", "p.json", "sub/"]
    assert completed("run", "sub/") == ["sub/q.yaml"] and completed("run", "nothing") == ["nothing"]
    assert completed("explain", "p.json", "--dialect", "s") == ["snowflake", "spark", "sqlite"]
    assert completed("attack", "r.csv", "--policy", "p") == ["p.json"]
    assert completed("completion", "") == ["bash", "zsh", "fish"]


def test_the_completed_words_are_those_of_the_rooms() -> None:
    assert ("auto", *(name for name, _ in STRATEGIES)) == usage_shell.STRATEGIES


def test_every_shell_has_its_script() -> None:
    for name, word in (("bash", "complete -o nosort -F"), ("zsh", "compdef"), ("fish", "complete --no-files")):
        done = sqlanon("completion", name)
        assert done.returncode == 0 and word in done.stdout and "_SQLANON_COMPLETE" in done.stdout
    assert sqlanon("completion", "cmd").returncode == 2


@POSIX
@pytest.mark.slow
def test_a_bash_completes_by_the_script(folder: Path) -> None:
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "sqlanon").write_text(f"#!{sys.executable}\nfrom sqlanon.cli import start\nstart()\n")
    (bin_folder / "sqlanon").chmod(0o755)
    line = (
        'eval "$(sqlanon completion bash)"; COMP_WORDS=(sqlanon run p.json --strategy be); COMP_CWORD=4;'
        ' _sqlanon_completion sqlanon; echo "${COMPREPLY[@]}"'
    )
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    try:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env={**os.environ, "PATH": path},
                              check=False)  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no bash")
    assert done.stdout.strip() == "best_first", done.stderr


# --- standard input and output ---


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_a_release_goes_through_a_pipe(form: str, folder: Path) -> None:
    line = f"cat p.json | sqlanon run - --to - --format {form} | sqlanon check - --qi a,b --k 5 --json"
    (folder / "tmp").mkdir()
    done = shell(line, TMPDIR=str(folder / "tmp"))
    answer = json.loads(done.stdout)
    assert answer["holds"] and answer["source"] == "-" and answer["records"] == 120
    assert "standard output: " + form in done.stderr
    assert not [*(folder / "tmp").iterdir()], "nothing is left of it"
    assert not (folder / "r.csv").exists()


@POSIX
@pytest.mark.slow
def test_a_release_on_standard_output_is_the_one_in_a_file(folder: Path) -> None:
    sent = shell("sqlanon run p.json -q --to -")
    assert (sent.returncode, sent.stderr) == (0, "") and shell("sqlanon run p.json -q").returncode == 0
    assert sorted(sent.stdout.splitlines()) == sorted((folder / "r.csv").read_text().splitlines())
    assert shell("sqlanon run p.json -q --to - | head -1").stdout == "a,b\n"


@POSIX
@pytest.mark.slow
def test_a_run_that_fails_sends_nothing(folder: Path) -> None:
    (folder / "tmp").mkdir()
    for line, code in (("never.json --to -", 1), ("p.json --to - --report nowhere/r.html", 2), ("t.csv --to -", 2),
                       ("p.json --to - --dry-run", 2), ("p.json p.json --to -", 2), ("p.json --format csv", 2),
                       ("p.json --to x.csv --format csv", 2)):  # fmt: skip
        done = shell(f"sqlanon run {line}", TMPDIR=str(folder / "tmp"))
        assert (done.returncode, done.stdout) == (code, "") and done.stderr, line
        assert not [*(folder / "tmp").iterdir()] and not (folder / "r.csv").exists()


def test_standard_output_holds_the_release_or_a_document(folder: Path) -> None:
    done = sqlanon("run", "p.json", "--json", "--to", "-")
    assert done.returncode == 2 and "either the release or the JSON" in json.loads(done.stdout)["message"]
    document = json.loads((folder / "p.json").read_text())
    document |= {"ledger": {"file": "l.duckdb", "record": "c", "key": {"env": "KEY"}}}
    (folder / "ledger.json").write_text(json.dumps(document))
    done = sqlanon("run", "ledger.json", "--to", "-")
    assert done.returncode == 2 and "ledger" in done.stderr and not done.stdout


@POSIX
@pytest.mark.slow
def test_parquet_is_not_shown_on_a_terminal(folder: Path) -> None:
    assert "A terminal shows no parquet" in on_terminal("run", "p.json", "--to", "-", "--format", "parquet")


def test_a_release_goes_to_the_file_that_is_named(folder: Path) -> None:
    done = sqlanon("run", "p.json", "--to", "elsewhere.parquet", "--json")
    assert json.loads(done.stdout)["output"] == {"file": str(folder / "elsewhere.parquet")}
    assert (folder / "elsewhere.parquet.manifest.json").exists() and not (folder / "r.csv").exists()
    assert sqlanon("run", "p.json", "--to", "elsewhere.doc").returncode == 2


def piped(text: str | bytes, *arguments: object) -> tuple[int, str, str]:
    """Run a command in this process with something on standard input."""
    done = CliRunner().invoke(main, [*map(str, arguments)], input=text)
    assert isinstance(done.exception, SystemExit | None), done.exc_info
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_a_policy_on_standard_input_is_relative_to_the_working_directory(folder: Path) -> None:
    text = (folder / "p.json").read_text()
    assert piped(text, "run", "-")[0] == 0 and (folder / "r.csv").exists()
    assert piped(text, "explain", "-")[1] == sqlanon("explain", "p.json").stdout
    assert piped(text, "risk", "--policy", "-")[0] == 0
    code, printed, errors = piped("columns: {a: [", "run", "-", "--json")
    assert code == 2 and "standard input cannot be read: " in json.loads(printed)["message"] and "line 1" in errors
    assert "nulls" in piped(text.replace("{", '{"nulls": "maybe", ', 1), "run", "-")[2]
    code, _, errors = piped(text, "check", "-", "--qi", "a", "--k", 2, "--reference", "t.csv", "--sensitive", "b:-")
    assert code == 2
    assert piped(text, "run", "-", "-")[0] == 2


@pytest.mark.parametrize("content", [b"", b"a", b"PAR1 and no more", b"ARROW1 and no more", b"\xff\xff\xff\xff\x00"])
def test_what_is_no_relation_on_standard_input_is_an_error(content: bytes, folder: Path) -> None:
    code, printed, errors = piped(content, "check", "-", "--qi", "a", "--k", 2)
    assert code == 2 and not printed and "Error: " in errors


# --- several policies ---


@pytest.mark.slow
def test_several_policies_are_run_one_after_the_other(folder: Path) -> None:
    sqlanon("run", "p.json")  # the runs that are compared replace a release, which takes statements of its own
    alone = json.loads(sqlanon("run", "p.json", "--json").stdout)
    done = sqlanon("run", "never.json", "p.json", "nowhere.json", "p.json", "--json")
    first, second, third, fourth = json.loads(done.stdout)
    assert done.returncode == 2 and [item["exit_code"] for item in (first, second, third, fourth)] == [1, 0, 2, 0]
    assert [item["policy"] for item in (first, second, third)] == ["never.json", "p.json", "nowhere.json"]
    assert first["error"] == "NoSolutionError" and third["error"] == "InputError"
    same = alone.keys() - {"seconds"}
    assert {name: second[name] for name in same} == {name: alone[name] for name in same}
    assert second.keys() == alone.keys() | {"policy", "exit_code"}


@pytest.mark.slow
def test_messages_of_several_policies_name_theirs(folder: Path) -> None:
    done = sqlanon("run", "p.json", "never.json")
    assert done.returncode == 1 and done.stderr.startswith("never.json: NoSolutionError: ")
    assert [line for line in done.stdout.splitlines() if line.endswith(".json:")] == ["p.json:", "never.json:"]
    quiet = sqlanon("run", "p.json", "never.json", "-q", "-v")
    assert not quiet.stdout and {line.split(": ")[0] for line in quiet.stderr.splitlines()} == {"p.json", "never.json"}


@pytest.mark.slow
def test_the_first_failure_ends_the_run_if_that_is_asked_for(folder: Path) -> None:
    done = sqlanon("run", "never.json", "p.json", "--json", "--fail-fast")
    assert done.returncode == 1 and [item["policy"] for item in json.loads(done.stdout)] == ["never.json"]
    assert "Not run" in done.stderr and "p.json" in done.stderr and not (folder / "r.csv").exists()
    assert sqlanon("run", "p.json", "p.json", "--fail-fast", "-q").returncode == 0


@pytest.mark.parametrize("option", ["--script", "--certificate", "--report", "--to"])
def test_a_file_that_each_policy_would_write_is_refused(option: str, folder: Path) -> None:
    done = sqlanon("run", "p.json", "p.json", option, "x.json")
    assert done.returncode == 2 and option in done.stderr and not done.stdout and not (folder / "r.csv").exists()


@POSIX
@pytest.mark.slow
def test_an_interrupt_ends_all_of_them_with_one_document(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.commands import run

    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "anonymize", interrupted)
    code, printed, errors = piped("", "run", "nowhere.json", "p.json", "never.json", "--json")
    first, second = json.loads(printed)
    assert code == 130 and first["exit_code"] == 2 and second["policy"] == "p.json"
    assert second["error"] == "Interrupted" and "p.json: Interrupted: " in errors


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_a_full_disk_behind_standard_output_is_an_error_of_ours(folder: Path, form: str) -> None:
    done = shell(f"sqlanon run p.json --to - --format {form} > /dev/full")
    assert done.returncode == 2 and "TargetError: Standard output cannot be written to" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
