"""Which project a file belongs to, and where new notes go."""

import posixpath

from memsvc.ledger.records import NoteRecord, VaultRecord
from memsvc.model.vocabulary import SHARED, ProjectSlug
from memsvc.scope.names import is_project

__all__ = ["folder_of", "project_after_move", "project_of"]


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
