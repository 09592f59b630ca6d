"""The key of a policy: where it stands, what is no key, and that no message holds a byte of it."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon import Column, Key, Policy

SECRET = "0123456789abcdef" * 4


def write(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_break_is_no_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    path = write(tmp_path / "secret.key", SECRET.encode() + end)
    assert Key(file=str(path)).secret() == SECRET.encode()
    monkeypatch.setenv("STUDY_KEY", SECRET + end.decode())
    assert Key(env="STUDY_KEY").secret() == SECRET.encode()


def test_a_key_may_be_any_bytes(tmp_path: Path) -> None:
    content = bytes(range(256))
    assert Key(file=str(write(tmp_path / "secret.key", content))).secret() == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds 0 bytes"),
        (SECRET.encode()[:31], "holds 31 bytes"),
        (SECRET.encode()[:31] + b"\n", "holds 31 bytes"),
        (b"\0" * 32, "fewer than 8 different bytes"),
        (SECRET.encode() * 100, "more than 4096 bytes"),
    ],
)
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "secret.key", content)
    with pytest.raises(sqlanon.InputError, match=message) as raised:
        Key(file=str(path)).secret()
    assert raised.value.hint
    assert SECRET[:8] not in str(raised.value)


def test_a_file_that_is_not_there_is_named_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(sqlanon.InputError, match=r"'secret.key' cannot be read: No such file") as raised:
        Key(file=str(tmp_path / "secret.key")).secret()
    assert str(tmp_path) not in str(raised.value)
    with pytest.raises(sqlanon.InputError, match="key file"):
        Key(file=str(tmp_path)).secret()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize(
    ("mode", "works"), [(0o400, True), (0o600, True), (0o640, True), (0o644, False), (0o602, False)]
)
def test_a_key_that_everybody_reads_is_refused(tmp_path: Path, mode: int, works: bool) -> None:
    path = write(tmp_path / "secret.key", SECRET.encode(), mode)
    if works:
        assert Key(file=str(path)).secret()
        return
    with pytest.raises(sqlanon.InputError, match="everybody") as raised:
        Key(file=str(path)).secret()
    assert "chmod 600" in raised.value.hint


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STUDY_KEY", raising=False)
    with pytest.raises(sqlanon.InputError, match=r"'STUDY_KEY', which holds the key, is not set"):
        Key(env="STUDY_KEY").secret()
    monkeypatch.setenv("STUDY_KEY", SECRET[:20])
    with pytest.raises(sqlanon.InputError, match="holds 20 bytes") as raised:
        Key(env="STUDY_KEY").secret()
    assert SECRET[:20] not in str(raised.value)


def document(**keys: Any) -> dict[str, Any]:
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "d": {"role": "keep"}}
    return {"columns": columns, "privacy": [{"type": "k_anonymity", "k": 2}], **keys}


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ({}, "one place"),
        ({"file": "a", "env": "B"}, "one place"),
        ({"context": "study"}, "one place"),
        ({"file": ""}, "not a text"),
        ({"env": 7}, "not a text"),
        ({"env": "A", "context": ""}, "not a text"),
        ({"secret": SECRET}, "not known"),
        ("secret.key", "not a mapping"),
    ],
)
def test_faults_of_the_key(key: Any, fault: str) -> None:
    with pytest.raises(sqlanon.PolicyError, match=fault) as raised:
        Policy.from_dict(document(key=key))
    assert SECRET not in str(raised.value)


def test_a_policy_names_the_key_and_never_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "secret.key", SECRET.encode())
    read = Policy.from_dict(document(key={"file": "secret.key", "context": "study"}), base_directory=tmp_path)
    assert read.key == Key(file=os.path.join(tmp_path, "secret.key"), context="study")
    built = Policy(
        columns=(Column.quasi_identifier("q", sqlanon.Suppress()), Column.keep("d")),
        privacy=(sqlanon.KAnonymity(2),),
        key=Key(file="secret.key", context="study"),
        base_directory=tmp_path,
    )
    assert built == read
    assert built.to_dict()["key"] == {"file": str(tmp_path / "secret.key"), "context": "study"}
    assert Policy.from_dict(read.to_dict()) == read
    assert tmp_path / "secret.key" in read.read_files  # no release can be written over it
    assert SECRET not in repr(read)
    elsewhere = Policy.from_dict(document(key={"file": "other/secret.key", "context": "study"}))
    assert elsewhere.fingerprint() == read.fingerprint() != Policy.from_dict(document()).fingerprint()
    monkeypatch.setenv("STUDY_KEY", SECRET)
    named = Policy.from_dict(document(key={"env": "STUDY_KEY"}))
    assert named.to_dict()["key"] == {"env": "STUDY_KEY"}
    assert SECRET not in repr(named) + str(named.to_dict())
