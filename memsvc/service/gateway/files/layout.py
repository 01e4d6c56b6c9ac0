"""Which project a file belongs to, where new notes go, and what is there already."""

import posixpath
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VaultRecord
from memsvc.model.vocabulary import SHARED, ProjectSlug, VaultName
from memsvc.scope.names import is_project

__all__ = ["folder_of", "free_beside", "occupied", "project_after_move", "project_of"]


def project_of(vault: VaultRecord, path: str) -> ProjectSlug:
    """The project of a file at `path`, relative to the vault.

    In a vault of layout `folders` the first folder names the project, if it is a legal name; in a
    `mapped` one the longest mapped folder does. Everything else is `shared`.
    """
    if vault.layout == "folders":
        first, slash, _ = path.partition("/")
        return ProjectSlug(first) if slash and is_project(first) else SHARED
    folder = posixpath.dirname(path)
    while folder:
        if folder in vault.projects:
            return ProjectSlug(vault.projects[folder])
        folder = posixpath.dirname(folder)
    return SHARED


def project_after_move(vault: VaultRecord, note: NoteRecord, path: str) -> ProjectSlug:
    """The project after a person moved the file; a rename within its folder keeps the project."""
    if posixpath.dirname(note.path) == posixpath.dirname(path):
        return note.project
    return project_of(vault, path)


def folder_of(vault: VaultRecord, project: ProjectSlug) -> str:
    """The folder for new notes of a project: a mapped one if there is, else one of its name."""
    if vault.layout == "mapped":
        mapped = sorted(folder for folder, name in vault.projects.items() if name == project)
        if mapped:
            return min(mapped, key=len)
    return str(project)


def occupied(connection: Connection, vault: VaultName, root: Path, path: str) -> bool:
    """Whether a note or a file, be it a link that leads nowhere, is at a path of the vault."""
    place = root / path
    return registry.path_taken(connection, vault, path) or place.exists() or place.is_symlink()


def free_beside(path: str, taken: Callable[[str], bool]) -> str:
    """The path, or the next one like it that `taken` does not know: `x.md`, `x-2.md`, …."""
    stem, number, found = path[: -len(".md")], 1, path
    while taken(found):
        number += 1
        found = f"{stem}-{number}.md"
    return found
