"""docs/extending.md runs as it stands: passed as objects, installed beside sqlanon, and broken in each way it tells."""

import itertools
import json
import os
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
import yaml
from effort import scaled
from policies import document_of

import sqlanon
from sqlanon import extending, testing
from sqlanon.core.policy import extensions
from sqlanon.core.policy.facts import TOP_KEYS
from sqlanon.core.search.base import Claim
from sqlanon.core.sqltrees.trees import table
from sqlanon.extending import AttributeMeasure, Extensions, Parameter, Request, whole
from sqlanon.parameters import names_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.S | re.M)
FILES = {found[1]: body for _, body in BLOCKS if (found := re.match(r"(?:#|--) (\S+\.\w+)\n", body))}
POINTS: dict[str, dict[str, str]] = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
CANARY = "Zz7canaryqQ"
QUASI = ("email", "country", "age")


def written(folder: Path, files: dict[str, str]) -> None:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(body, encoding="utf-8")


def distribution(folder: Path, name: str, points: dict[str, dict[str, str]]) -> None:
    """What pip leaves of a package for importlib.metadata."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    lines = [line for group, own in points.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in own.items()))]
    written(info, {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"})
    written(info, {"entry_points.txt": "\n".join(lines) + "\n"})


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package of the page, importable but not installed."""
    folder = tmp_path_factory.mktemp("code")
    written(folder, {name: body for name, body in FILES.items() if name.endswith((".py", ".sql"))})
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "hospital_rules"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def rules(code: Path) -> ModuleType:
    import hospital_rules

    return hospital_rules


def patients(count: int = 120, seed: int = 5) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    domains = ["gmail.com", "gmx.de", "web.de", "mail.org", "uni.ac.uk"]
    return [
        {
            "email": chance.choice([None, f"p{i}@{chance.choice(domains)}", f"p{i % 7}@{chance.choice(domains[:2])}"]),
            "country": chance.choice(["DE", "FR", "DE", "US", "XX", "n/a"]),
            "age": chance.randint(20, 29) if i % 9 else chance.randint(70, 75),
            "diagnosis": chance.choices(["flu", "cold", "angina", None], [4, 3, 2, 1])[0],
        }
        for i in range(count)
    ]


@pytest.fixture
def case(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the policy of the page and its data."""
    lines = [json.dumps(record) for record in patients()]
    written(tmp_path, {"policy.yaml": FILES["policy.yaml"], "patients.jsonl": "\n".join(lines) + "\n"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(**changes: object) -> dict[str, Any]:
    return {**yaml.safe_load(FILES["policy.yaml"]), **changes}


# --- brute force of the example ---


def generalized(record: dict[str, Any], node: tuple[int, ...]) -> tuple[str | None, ...]:
    """A record at a node, by the prose of the page."""
    email, country, age = (record[name] for name in QUASI)
    country = None if country == "n/a" else country
    continents = {"DE": "Europe", "FR": "Europe", "US": "America", "XX": "other"}
    domain = email.split("@")[1] if email else ""
    mails = [email, domain, domain.split(".")[-1], "*"]
    return (
        mails[node[0]] if email is not None or node[0] == 3 else None,
        [country, continents.get(country), "*"][node[1]] if country is not None or node[1] == 2 else None,
        str(age)[: 2 - node[2]] + "*" * node[2],
    )


@dataclass
class Judged:
    suppressed: int
    loss: float
    released: Counter


def brute(share: Fraction = Fraction(1, 2), k: int = 3) -> dict[tuple[int, ...], Judged]:
    """Every node: classes of k records in which no diagnosis has more than the share."""
    records, answers = patients(), {}
    for node in itertools.product(range(4), range(3), range(3)):
        classes: dict[tuple, list] = {}
        for record in records:
            classes.setdefault(generalized(record, node), []).append(record["diagnosis"])
        kept = {
            key: found
            for key, found in classes.items()
            if len(found) >= k and max(Counter(found).values()) <= share * len(found)
        }
        published = sum(map(len, kept.values()))
        share_lost = 1 - published / len(records)
        parts = [(1 - share_lost) * (x / top) ** 2 + share_lost for x, top in zip(node, (3, 2, 2))]
        released = Counter((*key, value) for key, found in kept.items() for value in found)
        answers[node] = Judged(len(records) - published, (parts[0] + 2 * parts[1] + parts[2]) / 4, released)
    return answers


def optimum() -> float:
    return min(a.loss for a in brute().values() if a.suppressed <= len(patients()) // 10 and a.released)


# --- the page as it stands ---


def test_the_page_imports_from_one_door_only() -> None:
    imported = set(re.findall(r"^(?:from|import) (sqlanon[\w.]*)", PAGE, re.M))
    assert imported == {"sqlanon", "sqlanon.extending"}
    assert set(re.findall(r"^from sqlanon import (.+)$", PAGE, re.M)) == {"extending"}
    assert all(hasattr(extending, name) for name in extending.__all__)


def test_the_page_has_one_example_of_each_kind() -> None:
    assert {group.removeprefix("sqlanon.") for group in POINTS} == set(extensions.BUILT_IN)
    for group, own in POINTS.items():
        for name in own:
            assert f"{name}:" in PAGE or f"`{name}`" in PAGE, (group, name)


@pytest.mark.slow
def test_passed_as_objects_all_examples_together_find_what_brute_force_finds(case: Path, rules: ModuleType) -> None:
    [usage] = [body for language, body in BLOCKS if language == "python" and not body.startswith("#")]
    scope: dict[str, Any] = {}
    exec(usage, scope)
    release, found = scope["release"], scope["found"]
    answers = brute()
    assert release.certificate.optimal and found.optimal
    assert release.certificate.loss == pytest.approx(optimum(), rel=1e-9)
    node = tuple(release.levels[name] for name in QUASI)
    assert answers[node].loss == pytest.approx(optimum(), rel=1e-9) and any(node)
    rows = [json.loads(line) for line in (case / "released.jsonl").read_text().splitlines()]
    assert Counter(tuple(row.values()) for row in rows) == answers[node].released
    assert set(scope["policy"].to_dict()["columns"]["country"]["hierarchy"]) == {"continent"}
    policy = sqlanon.Policy.from_dict(scope["policy"].to_dict(), base_directory=case, extensions=rules.EXTENSIONS)
    assert policy.fingerprint() == scope["policy"].fingerprint()


@pytest.mark.slow
def test_every_node_is_judged_as_by_brute_force(case: Path, rules: ModuleType) -> None:
    policy = sqlanon.Policy.from_file("policy.yaml", extensions=rules.EXTENSIONS)
    with sqlanon.plan(None, policy) as plan:
        for node, answer in brute().items():
            verdict = plan.evaluate(dict(zip(QUASI, node)))
            assert verdict.suppressed == answer.suppressed, node
            if answer.released:
                assert verdict.loss == pytest.approx(answer.loss, rel=1e-9), node


@pytest.mark.parametrize("kind", ["model", "measure", "strategy", "hierarchy", "format"])
@pytest.mark.slow
@pytest.mark.few(2)
def test_each_example_works_alone(case: Path, rules: ModuleType, kind: str) -> None:
    plain = document_of(
        {"email": "suppress", "country": "drop", "age": "redact", "diagnosis": "keep"},
        k=3,
        source="patients.csv",
        suppression_limit=0.1,
        output={"file": "released.parquet"},
    )
    columns: dict[str, Any] = plain["columns"]
    if kind == "model":
        columns["diagnosis"] = {"role": "sensitive", "models": [{"type": "max_share", "share": 0.6}]}
    changed: dict[str, Any] = {
        "measure": {"quality": {"measure": "squared_height", "aggregate": "maximum"}},
        "strategy": {"search": {"strategy": "descent"}},
        "hierarchy": {"columns": {**columns, "email": {"role": "quasi_identifier", "hierarchy": {"email": {}}}}},
        "format": {"source": "patients.jsonl", "output": {"file": "released.jsonl"}},
    }
    rows = [["" if value is None else str(value) for value in record.values()] for record in patients()]
    written(case, {"patients.csv": "\n".join(",".join(row) for row in [list(patients()[0]), *rows]) + "\n"})
    policy = sqlanon.Policy.from_dict({**plain, **changed.get(kind, {})}, extensions=rules.EXTENSIONS)
    with sqlanon.anonymize(None, policy) as release:
        other = sqlanon.Policy.from_dict(
            {**plain, **changed.get(kind, {}), "search": {"strategy": "exhaustive"}}, extensions=rules.EXTENSIONS
        )
        best = release.plan.with_policy(other).certificate.loss
        assert (
            release.certificate.loss == pytest.approx(best) if kind != "strategy" else release.certificate.loss >= best
        )
        assert release.to_arrow().num_rows == release.ledger.published > 0
        optimal = release.certificate.optimal
    if optimal:
        assert sqlanon.verify(f"{policy.output.target}.certificate.json", policy).holds
    else:
        assert kind == "strategy"


def test_the_audit_refuses_a_release_that_was_changed(case: Path, rules: ModuleType) -> None:
    policy = sqlanon.Policy.from_file("policy.yaml", extensions=rules.EXTENSIONS)
    with sqlanon.anonymize(None, policy) as release:
        found = release.to_arrow()
        engine = release.plan._session.source.engine
        [audit] = [a for a in release.plan._audits() if a.column == "diagnosis"]
        assert audit.name == "max_share_audit of diagnosis"
        for changed, fails in ((found, False), (one_value(found), True)):
            engine.load("changed", "changed", changed)
            offending = audit.offending(table("changed"), list(QUASI))
            assert bool(engine.run("audit", offending)) is fails
            engine.drop("changed")


def one_value(release: pa.Table) -> pa.Table:
    """One class gets one diagnosis, that of its first record."""
    rows = release.to_pylist()
    key = [rows[0][name] for name in QUASI]
    changed = [{**row, "diagnosis": "flu"} if [row[n] for n in QUASI] == key else row for row in rows]
    return pa.Table.from_pylist(changed, release.schema)


# --- installed ---


def run(folder: Path, *arguments: str, paths: list[Path]) -> subprocess.CompletedProcess:
    places = os.pathsep.join(map(str, [*paths, ROOT]))
    environment = {**os.environ, "PYTHONPATH": places, "SQLANON_TABLES": str(max(6, scaled(8)))}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def sqlanon_run(folder: Path, *arguments: str, paths: list[Path]) -> subprocess.CompletedProcess:
    output = run(folder, "sqlanon.cli", *arguments, paths=paths)
    assert "Traceback" not in output.stderr, output.stderr
    return output


@pytest.fixture
def installed(case: Path, code: Path) -> list[Path]:
    """The folders that make the package of the page an installed one."""
    distribution(case / "site", "hospital-rules", POINTS)
    return [case / "site", code]


@pytest.mark.slow
def test_installed_the_command_line_finds_all_examples(case: Path, installed: list[Path]) -> None:
    written(case, {"policy.yaml": FILES["policy.yaml"] + "report: report.html\n"})
    output = sqlanon_run(case, "run", "policy.yaml", "--json", paths=installed)
    assert output.returncode == 0, output.stderr
    answer = json.loads(output.stdout)
    assert "max_share(share=0.5)" in (case / "report.html").read_text().replace("<wbr>", "")
    assert answer["optimal"] and answer["measure"] == "squared_height"
    assert answer["loss"] == pytest.approx(optimum(), rel=1e-9)
    verified = sqlanon_run(case, "verify", "released.jsonl.certificate.json", "policy.yaml", "--json", paths=installed)
    assert verified.returncode == 0 and json.loads(verified.stdout)["optimal"], verified.stdout + verified.stderr

    asked = ("--qi", ",".join(QUASI), "--k", "3", "--sensitive", "diagnosis:max_share:share=0.5")
    assert sqlanon_run(case, "check", "released.jsonl", *asked, paths=installed).returncode == 0
    lines = [json.loads(line) for line in (case / "released.jsonl").read_text().splitlines()]
    written(case, {"changed.jsonl": "\n".join(json.dumps({**line, "diagnosis": "flu"}) for line in lines)})
    changed = sqlanon_run(case, "check", "changed.jsonl", *asked, paths=installed)
    assert changed.returncode == 1 and "max_share(share=0.5) does not hold" in changed.stdout

    (case / "released.jsonl").unlink()
    other = sqlanon_run(case, "run", "policy.yaml", "--json", "--strategy", "descent", paths=installed)
    assert other.returncode == 0, other.stderr
    found = json.loads(other.stdout)
    assert found["strategy"] == "descent" and found["loss"] >= optimum() * (1 - 1e-9)
    assert found["loss"] == pytest.approx(optimum()) or not found["optimal"]


@pytest.mark.slow
def test_installed_and_passed_is_no_clash(case: Path, installed: list[Path]) -> None:
    script = "from hospital_rules import EXTENSIONS\nfrom sqlanon import Policy\n"
    script += "Policy.from_file('policy.yaml', extensions=EXTENSIONS)\nPolicy.from_file('policy.yaml')\n"
    written(case, {"both.py": script})
    output = run(case, "both", paths=[case, *installed])
    assert output.returncode == 0, output.stderr


@pytest.mark.slow
def test_the_tests_of_the_page_pass(case: Path, installed: list[Path]) -> None:
    written(case, {"test_hospital_rules.py": FILES["test_hospital_rules.py"]})
    output = run(case, "pytest", "-q", "-p", "no:cacheprovider", "test_hospital_rules.py", paths=installed)
    assert output.returncode == 0, output.stdout + output.stderr


BROKEN = {
    "cannot be imported": {"sqlanon.models": {"rotten": "not_there:Model"}, "sqlanon.formats": {"bad": "not_there:F"}},
    "two packages": {"sqlanon.models": {"max_share": "elsewhere:MaxShare"}},
    "a built-in model": {"sqlanon.models": {"k_anonymity": "elsewhere:MaxShare"}},
    "a native format": {"sqlanon.formats": {"csv": "elsewhere:FORMAT", "columns": "elsewhere:FORMAT"}},
    "a native hierarchy": {"sqlanon.hierarchies": {"redact": "elsewhere:Builder"}},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken, changes, faults",
    [
        ("cannot be imported", {}, []),
        ("cannot be imported", {"privacy": [{"type": "rotten"}]}, ["privacy[0].type", "'rotten'", "not_there:Model"]),
        ("cannot be imported", {"bad": {}}, ["'bad'", "not_there:F", "ModuleNotFoundError"]),
        ("cannot be imported", {"output": {"file": "x.bad"}}, ["output.file", "'bad'", "not_there:F"]),
        ("two packages", {}, ["'max_share'", "hospital-rules", "package other", "elsewhere:MaxShare"]),
        ("a built-in model", {}, ["'k_anonymity'", "sqlanon itself", "package other", "cannot be replaced"]),
        ("a native format", {}, []),
        ("a native format", {"csv": {"delimiter": ";"}}, ["csv:", "sqlanon itself", "package other"]),
        ("a native hierarchy", {}, ["columns.age.hierarchy.redact", "sqlanon itself", "package other"]),
    ],
)
@pytest.mark.few(4)
def test_other_packages_harm_only_the_policies_that_name_them(
    case: Path, installed: list[Path], broken: str, changes: dict, faults: list[str]
) -> None:
    distribution(case / "other", "other", BROKEN[broken])
    written(case, {"policy.yaml": yaml.safe_dump(document(**changes), allow_unicode=True)})
    output = sqlanon_run(case, "run", "policy.yaml", "--dry-run", "--json", paths=[*installed, case / "other"])
    assert output.returncode == (2 if faults else 0), output.stderr
    assert all(part in output.stderr for part in faults), output.stderr
    if faults:
        assert json.loads(output.stdout)["error"] == "PolicyError"


# --- names and parameters ---


class Never:
    """A model that no class fails; its parts are bent by the tests."""

    type = "never"
    watches = False
    parameters = (Parameter("at", whole(1), required=False),)
    column = None
    references = ()
    size = 1
    monotone = True
    needs_rejection = False
    label = "never()"
    file = ""
    audit_file = ""

    def __init__(self, at: int = 1) -> None:
        if at == 13:
            raise ValueError(CANARY)
        if at == 14:
            raise RuntimeError(CANARY)

    def values(self, catalog: object) -> dict:
        return {}

    def audit_values(self, levels: int) -> dict:
        return {}

    def obstacle(self, catalog: object) -> None:
        return None


@pytest.fixture
def never(tmp_path: Path) -> type[Never]:
    files = {
        "never.sql": "SELECT class_key, 0 AS fails, n AS min_suppressed FROM classes",
        "audit.sql": "SELECT COUNT(*) AS records FROM release GROUP BY quasi_identifier HAVING FALSE",
    }
    written(tmp_path, files)
    return bent(Never, file=str(tmp_path / "never.sql"), audit_file=str(tmp_path / "audit.sql"))


def bent(kind: type, **parts: object) -> type:
    return type(kind.__name__, (kind,), parts)


def refused(act: Callable[[], object], *parts: str, kind: type = sqlanon.SqlanonError) -> str:
    """The message of the one error, which names all parts, gives a hint and holds no value."""
    with pytest.raises(kind) as caught:
        act()
    reported = str(caught.value)
    assert all(part in reported for part in parts), reported
    assert "Hint:" in reported and CANARY not in reported + repr(caught.value.__context__) + repr(vars(caught.value))
    return reported


SMALL = document_of({"a": "redact", "b": "suppress", "c": "keep"}, k=2, source="t.csv", suppression_limit=0.5)


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., sqlanon.Policy]:
    """A small policy with its data, and changes to it; ``hierarchy`` is that of column a."""
    rows = [f"{a}{i % 3},{b},{c}" for i, (a, b, c) in enumerate(itertools.product("xyz", "pq", f"m{CANARY}"))]
    written(tmp_path, {"t.csv": "a,b,c\n" + "\n".join([*rows, f"{CANARY},p,m", "x1,,", *["y1,q,"] * 3]) + "\n"})

    def made(own: Extensions, hierarchy: dict | None = None, **changes: object) -> sqlanon.Policy:
        columns = dict(SMALL["columns"])
        if hierarchy is not None:
            columns["a"] = {"role": "quasi_identifier", "hierarchy": hierarchy}
        return sqlanon.Policy.from_dict(
            {**SMALL, "columns": columns, **changes}, base_directory=tmp_path, extensions=own
        )

    return made


@pytest.mark.parametrize(
    "kind, name",
    [
        ("models", "k_anonymity"), ("measures", "loss"), ("strategies", "box"), ("strategies", "auto"),
        ("hierarchies", "suppress"), ("hierarchies", "information_loss"), ("formats", "csv"), ("formats", "xml"),
        ("formats", "columns"),
    ],
)  # fmt: skip
def test_no_object_takes_a_name_that_means_something_else(kind: str, name: str) -> None:
    refused(lambda: Extensions(**{kind: {name: object()}}), repr(name), "taken", kind=sqlanon.InputError)


def test_every_word_of_a_policy_is_reserved() -> None:
    taken = {*extensions.RESERVED["formats"], *extensions.NATIVE["formats"], *extensions.BUILT_IN["formats"]}
    assert set(names_of(TOP_KEYS)) <= taken


def test_objects_that_are_none_of_their_kind_are_refused(rules: ModuleType) -> None:
    share, lines = rules.max_share.MaxShare, rules.json_lines.JsonLines
    refused(lambda: Extensions(models={"mine": share}), "'mine'", "calls itself 'max_share'")
    refused(lambda: Extensions(models={"mine": object()}), "has no type")
    refused(lambda: Extensions(strategies={"mine": "x"}), "cannot be called")
    refused(lambda: Extensions(strategies={"my strategy": lambda: None}), "proper name")
    refused(lambda: Extensions(hierarchies={"mine": Never}), "has no levels or rows")
    refused(lambda: Extensions(formats={"jsonl": lines}), "is a class")
    for ending in (".csv", ".xml", ".JSONL", "jsonl"):
        refused(lambda e=ending: Extensions(formats={"jsonl": bent(lines, endings=(e,))()}), repr(ending), "taken")
    other = bent(lines, name="other")()
    own = Extensions(formats={"jsonl": rules.json_lines.JSON_LINES, "other": other})
    refused(lambda: own.format_of(".jsonl"), "jsonl and other", kind=sqlanon.InputError)


@pytest.mark.slow
def test_faults_of_models_are_faults_of_the_policy(small: Callable, never: type[Never], tmp_path: Path) -> None:
    def given(kind: type, **parameters: object) -> sqlanon.Policy:
        return small(Extensions(models={"never": kind}), privacy=[{"type": "never", **parameters}])

    with sqlanon.plan(None, given(never)) as plan:
        assert plan.certificate.loss == 0
    for parameters, parts in (
        ({"at": 0}, ("privacy[0].at", "at least 1")),
        ({"att": 2}, ("privacy[0].att", "did you mean 'at'?")),
        ({"at": 13}, ("privacy[0]", "ValueError")),
        ({"at": 14}, ("privacy[0]", "RuntimeError")),
    ):
        refused(lambda p=parameters: given(never, **p), *parts, kind=sqlanon.PolicyError)
    own = Extensions(models={"never": never})
    refused(lambda: small(own, privacy=[{"type": "nevr"}]), "did you mean 'never'?", kind=sqlanon.PolicyError)
    under = {"c": {"role": "sensitive", "models": [{"type": "never"}]}}
    refused(lambda: small(own, columns={**SMALL["columns"], **under}), "does not belong here")

    written(
        tmp_path,
        {
            "bad.sql": "SELECT FROM WHERE",
            "drop.sql": "DROP TABLE x",
            "grouped.sql": "SELECT COUNT(*) AS fails, 0 AS min_suppressed FROM classes",
        },
    )
    written(tmp_path, {"open.sql": "SELECT COUNT(*) - :most AS records FROM release"})
    written(
        tmp_path,
        {
            "valued.sql": "SELECT class_key, CASE WHEN n < :most THEN 1 ELSE 0 END AS fails, n AS min_suppressed "
            "FROM classes"
        },
    )
    for parts, reported in (
        ({"file": str(tmp_path / "none.sql")}, "is not installed"),
        ({"file": str(tmp_path / "bad.sql")}, "cannot be read as SQL"),
        ({"file": str(tmp_path / "drop.sql")}, "is no SELECT"),
        ({"file": str(tmp_path / "audit.sql")}, "without the column fails"),
        ({"file": str(tmp_path / "grouped.sql")}, "more than SELECT"),
        ({"audit_file": str(tmp_path / "never.sql")}, "without the column records"),
        ({"audit_file": str(tmp_path / "open.sql")}, "no value for :most"),
        ({"references": ("reference",)}, "reads 'reference'"),
        ({"column": "c"}, "without watching"),
    ):
        refused(lambda p=parts: given(bent(never, **p)), reported, kind=sqlanon.PolicyError)
    curious = bent(never, parameters=(Parameter("at", failing),))
    refused(lambda: given(curious, at=1), "The check of never's at", "ValueError", kind=sqlanon.InputError)
    lacking = type("Lacking", (), {k: v for k, v in vars(Never).items() if k != "size"})
    refused(lambda: given(lacking), "has no size", kind=sqlanon.PolicyError)
    valued = bent(never, file=str(tmp_path / "valued.sql"))
    refused(lambda: sqlanon.plan(None, given(valued)), ":most", "no value", kind=sqlanon.InputError)
    divided = bent(never, obstacle=lambda self, catalog: 1 / 0)
    refused(lambda: sqlanon.plan(None, given(divided)), "'never'", "ZeroDivisionError", kind=sqlanon.InputError)


# --- hierarchies ---


class Builder:
    """Rows, or levels, as a test wants them."""

    parameters = (Parameter("at", whole(1), required=False),)

    def __init__(self, at: int = 1) -> None:
        if at == 13:
            raise ValueError(CANARY)


def failing(*_: object, **__: object) -> Any:
    raise ValueError(CANARY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts, told",
    [
        ({"rows": lambda self, values: [(v, v[0], "*") for v in values[1:]]}, "do not list"),
        ({"rows": lambda self, values: [(v, "one", v) for v in values] + [("w", "one", "*")]}, "not a tree"),
        ({"rows": lambda self, values: [(v, v[0]) for v in values[1:]] + [(values[0],)]}, "lacks levels"),
        ({"rows": lambda self, values: [(v, 1) for v in values]}, "no tuples of texts"),
        ({"rows": lambda self, values: [(v, None) for v in values]}, "no tuples of texts"),
        ({"rows": lambda self, values: list(values)}, "no tuples of texts"),
        ({"rows": lambda self, values: None}, "TypeError"),
        ({"rows": failing}, "ValueError"),
        ({"levels": failing}, "ValueError"),
        ({"levels": lambda self, value, type_name, *, longest: ["'*'"]}, "no SQL expressions"),
        ({"levels": lambda self, value, type_name: []}, "TypeError"),
        (
            {"levels": lambda self, value, type_name, *, longest: parsed(value, "LEFT(v, 1)", "RIGHT(v, 1)")},
            "not a tree",
        ),
        ({"levels": lambda self, value, type_name, *, longest: parsed(value, "NULLIF(v, 'x0')", "'*'")}, "no text"),
        ({"levels": lambda self, value, type_name, *, longest: parsed(value, "nonsense(v)")}, "build hierarchies"),
        (
            {"levels": lambda self, value, type_name, *, longest: parsed(value, "CAST(v AS INTEGER)")},
            "build hierarchies",
        ),
    ],
)
@pytest.mark.few(6)
def test_what_a_builder_gives_is_checked(small: Callable, parts: dict, told: str) -> None:
    own = Extensions(hierarchies={"mine": bent(Builder, **parts)})
    policy = small(own, {"mine": {}})
    message = refused(lambda: sqlanon.plan(None, policy), told, kind=sqlanon.SqlanonError)
    assert "'a'" in message or "build hierarchies" in message


def parsed(value: Any, *texts: str) -> list:
    """Expressions over a value called v."""
    import sqlglot
    from sqlglot import exp

    trees = [sqlglot.parse_one(text, dialect="duckdb") for text in texts]
    return [t.transform(lambda n: value.copy() if isinstance(n, exp.Column) and n.name == "v" else n) for t in trees]


@pytest.mark.slow
def test_builders_take_options_and_give_numbers_and_meet_empty_columns(small: Callable, tmp_path: Path) -> None:
    numbers = bent(Builder, levels=lambda self, value, type_name, *, longest: parsed(value, "LENGTH(v)", "1"))
    own = Extensions(hierarchies={"mine": numbers})
    refused(
        lambda: small(own, {"mine": {"at": 13}}), "columns.a.hierarchy.mine", "ValueError", kind=sqlanon.PolicyError
    )
    refused(lambda: small(own, {"mine": {"at": 0}}), "columns.a.hierarchy.mine.at", kind=sqlanon.PolicyError)
    refused(lambda: small(own, {"mien": {}}), "exactly one kind", kind=sqlanon.PolicyError)
    with sqlanon.plan(None, small(own, {"mine": {"at": 2}})) as plan:
        assert plan.catalog.attributes[0].height == 3
    written(tmp_path, {"t.csv": "a,b,c\n,p,m\n,q,m\n,q,m\n"})
    for kind in (numbers, bent(Builder, rows=lambda self, values: 1 / 0)):
        with sqlanon.plan(None, small(Extensions(hierarchies={"mine": kind}), {"mine": {}})) as plan:
            assert plan.ledger.records == 3


def test_another_builder_of_the_same_name_needs_another_encoding(small: Callable) -> None:
    first, second = (bent(Builder, rows=lambda self, values: [(v, "*") for v in values]) for _ in range(2))
    policies = [small(Extensions(hierarchies={"mine": kind}), {"mine": {}}) for kind in (first, second)]
    with sqlanon.plan(None, policies[0]) as plan:
        plan.with_policy(policies[0])
        refused(lambda: plan.with_policy(policies[1]), "hierarchies", kind=sqlanon.InputError)


# --- measures ---


def measure(**parts: Any) -> Extensions:
    """One whose loss is the level, with other parts."""

    def floor(self: AttributeMeasure, node: tuple[int, ...]) -> tuple[float, ...]:
        return tuple(map(float, node))

    def added(self: AttributeMeasure, node: tuple[int, ...], suppressed: int, costs: object) -> tuple[float, ...]:
        return (0.0,) * len(node)

    kind = type("Mine", (AttributeMeasure,), {"name": "mine", "floor": floor, "added": added, **parts})
    return Extensions(measures={"mine": kind})


@pytest.mark.parametrize(
    "parts, told",
    [
        ({"floor": lambda self, node: tuple(float(x == 1) for x in node)}, "column 'a' falls from level 1 to 2"),
        ({"floor": lambda self, node: (float("nan"),) * len(node)}, "no number"),
        ({"floor": lambda self, node: (-1.0,) * len(node)}, "negative"),
        ({"floor": lambda self, node: node[7]}, "IndexError"),
        ({"floor": lambda self, node: (0.0,)}, "ValueError"),
        ({"added": lambda self, node, s, costs: (-float(s),) * len(node)}, "falls with the suppressed"),
        ({"added": lambda self, node, s, costs: tuple(s * (2.0 - x) for x in node)}, "falls from level"),
        ({"needs": "everything"}, "not known"),
        ({"aggregates": ("median",)}, "not known"),
        ({"__init__": failing}, "ValueError"),
    ],
)
@pytest.mark.slow
@pytest.mark.few(4)
def test_a_measure_that_cannot_be_searched_with_is_refused(small: Callable, parts: dict, told: str) -> None:
    policy = small(measure(**parts), quality={"measure": "mine"})
    refused(lambda: sqlanon.plan(None, policy), "'mine'", told, kind=sqlanon.InputError)


@pytest.mark.slow
def test_a_sound_measure_of_any_need_is_searched_with(small: Callable) -> None:
    for needs in (None, "costs", "surprisals"):
        with sqlanon.plan(None, small(measure(needs=needs), quality={"measure": "mine"})) as plan:
            assert plan.certificate.optimal
    refused(lambda: small(measure(), quality={"measure": "mien"}), "did you mean 'mine'?", kind=sqlanon.PolicyError)


# --- strategies ---


def lying(problem: Any, progress: Any, *, gap: float = 0.0) -> Any:
    """Judges the top alone and claims everything."""
    [verdict] = yield [Request(problem.lattice.top, problem.lattice.bottom)]
    progress.see(verdict)
    progress.incumbent = verdict
    progress.lower_bound = verdict.loss
    progress.claims = [Claim(problem.lattice.bottom, problem.lattice.top, None, None, verdict.loss)]
    progress.finished = True
    yield [Request(problem.lattice.top, problem.lattice.bottom)]


def forgetful(problem: Any, progress: Any, *, gap: float = 0.0) -> Any:
    """Accounts for nothing."""
    for node in problem.lattice.nodes():
        yield [Request(node, problem.lattice.bottom)]


@pytest.mark.slow
def test_a_strategy_does_not_say_what_is_found_or_proven(small: Callable, tmp_path: Path) -> None:
    own = Extensions(strategies={"lying": lying, "forgetful": forgetful})
    with sqlanon.plan(None, small(own)) as plan:
        best = plan.certificate
    with sqlanon.plan(None, small(own, search={"strategy": "lying"})) as plan:
        reported = plan.certificate
        assert (
            reported.loss > best.loss and not reported.optimal and reported.lower_bound is None and plan.proof is None
        )
    with sqlanon.plan(None, small(own, search={"strategy": "lying", "max_evaluations": 1})) as plan:
        assert not plan.certificate.optimal and plan.certificate.lower_bound <= best.loss
    output = {"file": str(tmp_path / "r.parquet")}
    policy = small(own, search={"strategy": "forgetful"}, output=output)
    with sqlanon.anonymize(None, policy) as release:
        assert release.certificate.optimal and release.certificate.loss == best.loss
    assert sqlanon.verify(f"{output['file']}.certificate.json", policy).holds


def asking(asked: Callable[[Any], object]) -> Extensions:
    def search(problem: Any, progress: Any, *, gap: float = 0.0) -> Any:
        yield asked(problem)

    return Extensions(strategies={"mine": search})


@pytest.mark.parametrize(
    "own, told",
    [
        (asking(lambda problem: [Request((99, 0), (0, 0))]), "outside the lattice"),
        (asking(lambda problem: [Request((0,), (0,))]), "outside the lattice"),
        (asking(lambda problem: [Request((0, 0), (1, 0))]), "floor"),
        (asking(lambda problem: []), "does not yield requests"),
        (asking(lambda problem: [(0, 0)]), "does not yield requests"),
        (asking(lambda problem: Request((0, 0), (0, 0))), "does not yield requests"),
        (asking(failing), "ValueError"),
        (Extensions(strategies={"mine": failing}), "ValueError"),
        (Extensions(strategies={"mine": lambda problem, progress, *, gap: None}), "AttributeError"),
        (Extensions(strategies={"mine": lambda problem, progress, *, gap: iter(())}), "AttributeError"),
    ],
)
@pytest.mark.slow
@pytest.mark.few(4)
def test_a_strategy_that_does_not_keep_to_the_lattice_ends_the_run(small: Callable, own: Extensions, told: str) -> None:
    policy = small(own, search={"strategy": "mine"})
    refused(lambda: sqlanon.plan(None, policy), "'mine'", told, kind=sqlanon.InputError)


def test_a_strategy_that_finds_nothing_proves_nothing(small: Callable) -> None:
    policy = small(
        asking(lambda p: [Request(p.lattice.bottom, p.lattice.bottom)]),
        suppression_limit=0,
        search={"strategy": "mine"},
    )
    refused(lambda: sqlanon.plan(None, policy), "without a solution", kind=sqlanon.SearchStoppedError)


# --- formats ---


def lines_format(rules: ModuleType, **parts: object) -> Extensions:
    return Extensions(formats={"jsonl": bent(rules.json_lines.JsonLines, **parts)()})


def rewritten(change: Callable[[list[dict]], list[dict]]) -> Callable[..., None]:
    """A writer that changes the rows."""

    def write(self: Any, path: Path, rows: pa.RecordBatchReader, options: object) -> None:
        changed = change(rows.read_all().to_pylist())
        path.write_text("".join(json.dumps(row) + "\n" for row in changed))

    return write


def half_written(self: Any, path: Path, rows: pa.RecordBatchReader, options: object) -> None:
    path.write_text("{}")
    raise OSError(CANARY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "write, told",
    [
        (rewritten(lambda rows: rows[1:]), "does not read back"),
        (rewritten(lambda rows: [*rows, rows[0]]), "does not read back"),
        (rewritten(lambda rows: [{**row, "c": "m"} for row in rows]), "does not read back"),
        (rewritten(lambda rows: [{**row, "c": row["c"] or ""} for row in rows]), "does not read back"),
        (rewritten(lambda rows: [dict(reversed(row.items())) for row in rows]), "does not read back"),
        (rewritten(lambda rows: [{**row, "d": "more"} for row in rows]), "does not read back"),
        (rewritten(lambda rows: []), "does not read back"),
        (lambda self, path, rows, options: path.write_text("no JSON"), "does not read back"),
        (lambda self, path, rows, options: None, "does not read back"),
        (lambda self, path, rows, options: next(iter(rows)) and path.write_text("{}"), "does not read back"),
        (half_written, "OSError"),
    ],
)
@pytest.mark.few(4)
def test_what_a_format_wrote_is_compared_and_nothing_is_left(
    small: Callable, rules: ModuleType, tmp_path: Path, write: Callable, told: str
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    policy = small(lines_format(rules, write=write), output={"file": str(tmp_path / "r.jsonl")})
    message = refused(lambda: sqlanon.anonymize(None, policy), "'jsonl'", told)
    assert "Nothing was published" in message or "writing" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_reader_is_held_to_its_contract(small: Callable, rules: ModuleType, tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", "y"], "c": ["x", "y"]})

    def later(self: Any, path: Path, options: object) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from pa.table({name: ["x"] for name in "abc"}).to_batches()
            raise ValueError(CANARY)

        return pa.RecordBatchReader.from_batches(pa.schema([(name, pa.string()) for name in "abc"]), batches())

    written(tmp_path, {"t.jsonl": "[]\n"})
    for read, reported in (
        (failing, "ValueError"),
        (lambda self, path, options: table.to_reader(), "no table of texts"),
        (lambda self, path, options: table, "no table of texts"),
        (later, "ValueError"),
        (rules.json_lines.JsonLines.read, "Line 1"),
    ):
        policy = small(lines_format(rules, read=read), source="t.jsonl")
        refused(lambda p=policy: sqlanon.plan(None, p), "'t.jsonl'", reported, kind=sqlanon.SourceError)
    only = lines_format(rules, writes=False)
    refused(lambda: small(only, output={"file": "x.jsonl"}), "output.file", kind=sqlanon.PolicyError)
    refused(lambda: small(only, jsonl={"null_txt": ""}), "did you mean 'null_text'?", kind=sqlanon.PolicyError)


# --- the checks of sqlanon.testing find what is wrong ---


def share_with(rules: ModuleType, folder: Path, *, old: str = "", new: str = "", **parts: object) -> Extensions:
    """The model of the page with another meaning, or with other parts."""
    text = FILES["hospital_rules/max_share.sql"]
    assert old in text
    written(folder, {"other.sql": text.replace(old, new)})
    kind = bent(rules.max_share.MaxShare, file=str(folder / "other.sql"), **parts)
    return Extensions(models={"max_share": kind})


HALF = {"values": lambda self, catalog: {"numerator": 1, "denominator": 2}}
WRONG_MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "lost is too large": ({"old": "- 1)\n", "new": "- 1 + :denominator - :numerator)\n"}, "min_suppressed"),
    "too much is hopeless": (
        {"old": "distinct_values * :numerator < ", "new": "distinct_values * :numerator <= "},
        "min_suppressed",
    ),
    "not monotone": ({"monotone": True}, "min_suppressed, monotone"),
    "the meaning is stricter": ({"old": "> n *", "new": ">= n *"}, "seed"),
    "the audit is another": (
        {**HALF, "audit_values": lambda self, levels: {"numerator": 2, "denominator": 3}},
        "by the audit",
    ),
    "size is too large": ({"size": 3}, "seed"),
    "the obstacle is none": ({"obstacle": lambda self, catalog: "never"}, "obstacle"),
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG_MODELS)
@pytest.mark.few(3)
def test_check_model_finds_a_wrong_model(rules: ModuleType, tmp_path: Path, wrong: str) -> None:
    parts, reported = WRONG_MODELS[wrong]
    own = share_with(rules, tmp_path, **parts)

    def half(counts: Counter) -> bool:
        return 2 * max(counts.values()) <= sum(counts.values())

    with pytest.raises(AssertionError, match=re.escape(reported)) as caught:
        testing.check_model("max_share", {"share": 0.5}, extensions=own, passes=half, tables=60)
    assert "seed" in str(caught.value)


@pytest.mark.slow
def test_check_measure_finds_a_wrong_bound() -> None:
    def bound(self: AttributeMeasure, bottom: object, ground: object, certain: Any) -> float:
        return AttributeMeasure.bound(self, bottom, ground, certain) + 0.01 * certain.suppressed

    with pytest.raises(AssertionError, match="seed"):
        testing.check_measure("mine", extensions=measure(bound=bound))
    testing.check_measure("mine", extensions=measure(), tables=5)


@pytest.mark.slow
def test_check_strategy_tells_a_heuristic_from_an_exact_one() -> None:
    own = Extensions(strategies={"lying": lying, "forgetful": forgetful})
    testing.check_strategy("lying", extensions=own, tables=10)
    testing.check_strategy("forgetful", exact=True, extensions=own, tables=10)
    with pytest.raises(AssertionError, match="seed"):
        testing.check_strategy("lying", exact=True, extensions=own)


def test_check_builder_and_check_format_find_what_is_wrong(rules: ModuleType, tmp_path: Path) -> None:
    torn = bent(Builder, rows=lambda self, values: [(v, "one", v) for v in values])
    with pytest.raises(sqlanon.HierarchyError):
        testing.check_builder("mine", {}, ["a", "b"], extensions=Extensions(hierarchies={"mine": torn}))
    drops = rewritten(lambda rows: [{k: v or "" for k, v in row.items()} for row in rows])
    with pytest.raises(AssertionError, match="seed"):
        testing.check_format("jsonl", tmp_path, extensions=lines_format(rules, write=drops))


@pytest.mark.slow
def test_the_checks_hold_for_what_is_built_in(tmp_path: Path) -> None:
    testing.check_model("recursive_l_diversity", {"l": 2, "c": 2}, tables=3)
    testing.check_model("t_closeness", {"t": 0.3}, tables=3)
    testing.check_model("k_anonymity", {"k": 2}, passes=lambda counts: sum(counts.values()) >= 2, tables=3)
    testing.check_measure("loss", aggregate="maximum", tables=3)
    testing.check_measure("average_class_size", tables=3)
    testing.check_strategy("box", exact=True, tables=3)
    testing.check_strategy("datafly", tables=3)
    testing.check_format("xml", tmp_path, tables=20)
