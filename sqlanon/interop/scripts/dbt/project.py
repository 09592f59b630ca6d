"""The folder of a dbt project: what is written there, and what is left as it is.

A file is ours if the manifest of the release lists it and its text is still what was written. All others belong to a
person, and are replaced only if that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.disk.writing import write_text
from sqlanon.core.publish.papers import paper_at
from sqlanon.core.sqltrees import files as sqlfiles
from sqlanon.errors import InputError, TargetError, system_refusals
from sqlanon.interop.scripts.dbt import sources, yml
from sqlanon.interop.scripts.dbt.release import DbtRelease, files, properties
from sqlanon.interop.scripts.dbt.template import SIGNS, Call

PACKAGE = "packages/sqlanon"
"""The folder in a project that the package of generic tests is copied to."""
OWN_TESTS = "integration_tests/"
"""The folder of the package with a project that tests it, which others do not need."""
MANIFEST = ".sqlanon.json"
PROJECT = "dbt_project.yml"
SOURCE, DECLARES = "dbt_source", "dbt_declares"
"""The keys of a manifest with the source of the records, and whether the release needs it declared."""


@dataclass(frozen=True, slots=True)
class Written:
    """The files of a folder that were written and removed.

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
    project = folder / PROJECT
    settings = yml.read(project) if project.exists() else {}
    folders = _folders(folder, settings)
    own = f"{folders['models']}/{release.name}.yml"
    shared = f"{folders['models']}/{sources.FILE}"
    texts = {
        **files(release, folders),
        **{f"{PACKAGE}/{path}": text for path, text in sqlfiles.texts("dbt").items() if not path.startswith(OWN_TESTS)},
        own: yml.dump(properties(release)),
    }
    manifest = release.name + MANIFEST
    earlier = _manifest(folder / manifest)
    if earlier.get(SOURCE, str(release.source)) != str(release.source) and not force:
        raise TargetError(
            f"The model {release.name!r} of the folder is a release of other records.",
            hint="choose another --name, or replace it (--force).",
        )
    known = _known(folder, earlier, release.name)
    foreign = [path for path, text in texts.items() if not _ours(folder, path, known, text)]
    if (folder / manifest).exists() and not known:
        foreign.append(manifest)
    elsewhere = sources.declared_elsewhere(folder, settings, [folder / own, folder / shared])
    declarations = _declarations(release, folder, shared, elsewhere)
    if declarations is not None and not sources.is_ours(folder / shared):
        foreign.append(shared)
    if foreign and not force:
        raise TargetError(
            f"{len(foreign)} files of the folder were not written by this command or were changed since: "
            f"{', '.join(sorted(foreign))}.",
            hint="choose another --name or folder, or replace them (--force).",
        )
    dropped = [path for path in known if path not in texts and _unchanged(folder, path, known)]
    starting, to_add = _missing_files(release, folder)
    digests = {path: _digest(text) for path, text in texts.items()}
    document = {"files": digests, SOURCE: str(release.source), DECLARES: release.declares, **release.manifest}
    if declarations:
        texts[shared] = sources.declarations(declarations)
    elif declarations is not None:
        dropped.append(shared)
    texts |= starting | {manifest: json.dumps(document, indent=2) + "\n"}
    _change(folder, texts, dropped)
    return Written(tuple(texts), tuple(dropped), to_add)


def _change(folder: Path, texts: Mapping[str, str], dropped: Sequence[str]) -> None:
    """Write files of a folder, and remove others, or raise TargetError."""
    hint = "check its permissions and the room on the disk."
    with system_refusals(TargetError, f"The folder {folder.name!r} cannot be written", hint=hint):
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / path, text)
        for path in dropped:
            (folder / path).unlink()


def _declarations(
    release: DbtRelease, folder: Path, shared: str, elsewhere: Mapping[sources.Declared, Path]
) -> set[sources.Declared] | None:
    """Return the tables that the shared file is to declare; None if it stays as it is.

    It loses what this release needed before and no other does, and what a person declares now.

    Raises:
        TargetError: the project declares the table of the release in a file of its own.
    """
    own = _tables(release.source) if release.declares else set()
    for table in own & elsewhere.keys():
        raise TargetError(
            f"The project declares the table {'.'.join(table)!r} already, in "
            f"{elsewhere[table].relative_to(folder)}; dbt accepts one declaration.",
            hint=f'name it as the source of the records: --source "{release.source}".',
        )
    there = sources.declared(folder / shared)
    ours = folder / (release.name + MANIFEST)
    others = [_needed(_manifest(path)) for path in folder.glob("*" + MANIFEST) if path != ours]
    unused = _needed(_manifest(ours)).difference(*others)
    wanted = ((there - unused) | own) - elsewhere.keys()
    return wanted if wanted != there else None


def _needed(manifest: Mapping[str, Any]) -> set[sources.Declared]:
    """Return the table that a release needs declared, by its manifest."""
    try:
        return _tables(Call.parsed(str(manifest.get(SOURCE)))) if manifest.get(DECLARES) is True else set()
    except InputError:
        return set()


def _tables(source: Call) -> set[sources.Declared]:
    return {(source.names[0], source.names[1])} if source.function == "source" else set()


def _folders(folder: Path, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return where the project keeps its models, seeds and tests.

    Args:
        settings: dbt_project.yml.

    Raises:
        TargetError: that is not in the folder, or a template computes it.
    """
    folders = {}
    for kind in ("models", "seeds", "tests"):
        key = sources.PATHS[kind]
        named = settings.get(key)
        folders[kind] = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else kind
        if any(sign in folders[kind] for sign in SIGNS) or not sources.within(folder, folders[kind]):
            raise TargetError(
                f"The first of the {key} of dbt_project.yml is no plain path within the project.",
                hint=f"write it as it stands, such as {kind}.",
            )
    return folders


def _missing_files(release: DbtRelease, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files that are written only if they do not exist, and what a person has to add to existing ones."""
    package = {"local": PACKAGE}
    created, missing = {}, {}
    if not (folder / PROJECT).exists():
        created[PROJECT] = yml.dump({"name": release.name, "version": "1.0.0", "profile": release.name})
    if not (folder / "packages.yml").exists():
        created["packages.yml"] = yml.dump({"packages": [package]})
    elif package not in _listed(folder / "packages.yml"):
        missing["packages.yml"] = f"- local: {PACKAGE}"
    return created, missing


def _listed(path: Path) -> list[Any]:
    """Return the packages of a project."""
    packages = yml.read(path).get("packages") or []
    if not isinstance(packages, list):
        raise TargetError(f"The packages of {path.name!r} are no list.", hint="correct it first.")
    return packages


def _manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a release; an empty one if there is none or it cannot be read."""
    return paper_at(path) or {}


def _known(folder: Path, manifest: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the files that an earlier run wrote, with their digests, as its manifest lists them.

    A manifest may come from anybody: paths out of the folder, and files that no run of this release writes, are
    ignored.
    """
    listed = manifest.get("files")
    return {
        path: digest
        for path, digest in (listed.items() if isinstance(listed, dict) else ())
        if isinstance(digest, str)
        and sources.within(folder, path)
        and (Path(path).name.startswith((f"{name}_", f"{name}.")) or Path(path).is_relative_to(PACKAGE))
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unchanged(folder: Path, path: str, known: Mapping[str, str]) -> bool:
    file = folder / path
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == known.get(path)


def _ours(folder: Path, path: str, known: Mapping[str, str], text: str) -> bool:
    """Return True if a file may be written: there is none, or it has that very text, or what we wrote before."""
    file = folder / path
    if not file.exists():
        return True
    return _unchanged(folder, path, known) or _unchanged(folder, path, {path: _digest(text)})
