"""The folder of a dbt project: what is written there, and what is left as it is.

A file is ours if the manifest of the release lists it and its text is still what was written. All others belong to a
person, and are replaced only if that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sqlanon.errors import TargetError
from sqlanon.scripts.dbt.release import DbtRelease, files, properties
from sqlanon.scripts.dbt.template import SIGNS
from sqlanon.sqltrees import files as sqlfiles

PACKAGE = "packages/sqlanon"
"""The folder in a project that the package of generic tests is copied to."""
MANIFEST = ".sqlanon.json"
PATHS: Mapping[str, str] = {"models": "model-paths", "seeds": "seed-paths", "tests": "test-paths"}
"""The folders of a project, and what dbt_project.yml calls them."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was done in a folder.

    Attributes:
        files: the files that were written, by their paths in it.
        removed: files of an earlier release, which this one does not need.
        to_add: what a person has to add to a file of theirs, by its name.
    """

    files: tuple[str, ...]
    removed: tuple[str, ...]
    to_add: Mapping[str, str]


def write(release: DbtRelease, folder: Path, *, force: bool = False) -> Written:
    """Write a release into a folder, which becomes a dbt project unless it is one.

    Args:
        force: replace files that are not ours too, except dbt_project.yml and packages.yml.

    Raises:
        TargetError: files are not ours, or the folder cannot be written; nothing was changed in the former case.
        UnsupportedError: see ``release.files``.
    """
    texts = {
        **files(release, _folders(folder)),
        **{f"{PACKAGE}/{path}": text for path, text in sqlfiles.texts("dbt").items()},
    }
    texts[f"{_folders(folder)['models']}/{release.name}.yml"] = _yaml(properties(release))
    manifest = release.name + MANIFEST
    known = _known(folder, manifest, release.name)
    foreign = [path for path, text in texts.items() if not _ours(folder, path, known, text)]
    if (folder / manifest).exists() and not known:
        foreign.append(manifest)
    if foreign and not force:
        raise TargetError(
            f"{len(foreign)} files of the folder were not written by this command or were changed since: "
            f"{', '.join(sorted(foreign))}.",
            hint="choose another --name or folder, or replace them (--force).",
        )
    dropped = [path for path in known if path not in texts and _unchanged(folder, path, known)]
    starting, to_add = _missing_files(release, folder)
    document = {"files": {path: _digest(text) for path, text in texts.items()}, **release.manifest}
    texts |= starting | {manifest: json.dumps(document, indent=2) + "\n"}
    failure = None
    try:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
        for path in dropped:
            (folder / path).unlink()
    except OSError as error:
        failure = error.strerror or "the system refused"
    if failure is not None:
        raise TargetError(
            f"The folder {folder.name!r} cannot be written ({failure}).",
            hint="check its permissions and the room on the disk.",
        )
    return Written(tuple(texts), tuple(dropped), to_add)


def _folders(folder: Path) -> dict[str, str]:
    """Return where the project keeps its models, seeds and tests.

    Raises:
        TargetError: that is not in the folder, or a template computes it.
    """
    path = folder / "dbt_project.yml"
    document = _read_yaml(path) if path.exists() else {}
    found = {}
    for kind, key in PATHS.items():
        named = document.get(key)
        found[kind] = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else kind
        if any(sign in found[kind] for sign in SIGNS) or not _within(folder, found[kind]):
            raise TargetError(
                f"The first of the {key} of dbt_project.yml is no plain path within the project.",
                hint=f"write it as it stands, such as {kind}.",
            )
    return found


def _within(folder: Path, path: str) -> bool:
    """Return whether a path of the folder leads to a place in it, links included."""
    return (folder / path).resolve().is_relative_to(folder.resolve())


def _missing_files(release: DbtRelease, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files that are written only if they do not exist, and what a person has to add to existing ones."""
    package = {"local": PACKAGE}
    created, missing = {}, {}
    if not (folder / "dbt_project.yml").exists():
        created["dbt_project.yml"] = _yaml({"name": release.name, "version": "1.0.0", "profile": release.name})
    if not (folder / "packages.yml").exists():
        created["packages.yml"] = _yaml({"packages": [package]})
    elif package not in _listed(folder / "packages.yml"):
        missing["packages.yml"] = f"- local: {PACKAGE}"
    return created, missing


def _listed(path: Path) -> list[Any]:
    """Return the packages of a project."""
    found = _read_yaml(path).get("packages") or []
    if not isinstance(found, list):
        raise TargetError(f"The packages of {path.name!r} are no list.", hint="correct it first.")
    return found


def _yaml(document: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(document))  # every list a copy of its own: YAML would refer from one to the other
    return yaml.safe_dump(plain, allow_unicode=True, sort_keys=False)


def _read_yaml(path: Path) -> dict[str, Any]:
    document, failed = None, False
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        failed = True
    if failed or not isinstance(document, dict):
        raise TargetError(f"The file {path.name!r} of the folder is no YAML mapping.", hint="correct it first.")
    return document


def _known(folder: Path, manifest: str, name: str) -> dict[str, str]:
    """Return the files that an earlier run wrote, with their digests, as its manifest lists them.

    A manifest may come from anybody: paths out of the folder, and files that no run of this release writes, are
    ignored.
    """
    try:
        found = json.loads((folder / manifest).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {
        path: digest
        for path, digest in (found.items() if isinstance(found, dict) else ())
        if isinstance(digest, str)
        and _within(folder, path)
        and (Path(path).name.startswith((f"{name}_", f"{name}.")) or Path(path).is_relative_to(PACKAGE))
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unchanged(folder: Path, path: str, known: Mapping[str, str]) -> bool:
    found = folder / path
    return found.is_file() and hashlib.sha256(found.read_bytes()).hexdigest() == known.get(path)


def _ours(folder: Path, path: str, known: Mapping[str, str], text: str) -> bool:
    """Return True if a file may be written: there is none, or it has that very text, or what we wrote before."""
    found = folder / path
    if not found.exists():
        return True
    return _unchanged(folder, path, known) or _unchanged(folder, path, {path: _digest(text)})
