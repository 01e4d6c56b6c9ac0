"""The names of vaults and projects: what is legal, and how free text becomes a slug."""

import re
import unicodedata

from memsvc.errors import InvalidInput
from memsvc.model.vocabulary import SHARED, ProjectSlug, VaultName

__all__ = ["check_project", "check_vault", "is_project", "project_slug"]

_LEGAL = re.compile(r"[^\W_](?:[\w.-]*[^\W_])?\Z")
_MAX_BYTES = 64
_RESERVED = frozenset({"con", "prn", "aux", "nul", "all", "any", "none", "null", "auto"})


def is_project(text: str) -> bool:
    """Whether `text` is a legal project slug: letters, digits, `.`, `_`, `-`, lower case, one part."""
    return (
        _LEGAL.match(text) is not None
        and ".." not in text
        and text == unicodedata.normalize("NFC", text).lower()
        and len(text.encode()) <= _MAX_BYTES
        and text not in _RESERVED
    )


def check_project(text: str) -> ProjectSlug:
    """The slug, or InvalidInput that says what a project may be called."""
    if not is_project(text):
        raise InvalidInput(
            "that is no project name: use lower-case letters, digits, '.', '_' or '-', "
            f"at most {_MAX_BYTES} bytes, for example 'heron'",
            argument="project",
        )
    return ProjectSlug(text)


def check_vault(text: str) -> VaultName:
    """The name, or InvalidInput that says what a vault may be called."""
    if not is_project(text) or text == SHARED:
        raise InvalidInput(
            "that is no vault name: use lower-case letters, digits, '.', '_' or '-', "
            f"at most {_MAX_BYTES} bytes, for example 'team'",
            argument="vault",
        )
    return VaultName(text)


def project_slug(text: str) -> ProjectSlug:
    """A legal slug made of any text, for example a folder's name; `shared` if nothing is left."""
    lowered = unicodedata.normalize("NFC", text).lower()
    slug = re.sub(r"[^\w.-]+", "-", lowered)
    slug = re.sub(r"-{2,}|\.{2,}", "-", slug).strip("-._")
    while len(slug.encode()) > _MAX_BYTES:
        slug = slug[:-1].strip("-._")
    if slug in _RESERVED:
        slug = f"{slug}-project"
    return ProjectSlug(slug) if is_project(slug) else SHARED
