"""Decides where a backup's home and vaults go, and refuses every place that is not free."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from memsvc.errors import InvalidInput
from memsvc.notes.paths import contains
from memsvc.ops.backup.manifest import Manifest, VaultCopy
from memsvc.ops.backup.staging import Stage, is_free

__all__ = ["Place", "plan"]

_OWN = frozenset({"anchors", "locks", "models", "eval", "memsvc.db", "memsvc.toml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a vault goes. `inside` is the folder in the home, empty for one of its own; `kept` is
    a present folder that stays as it is; without `copied` the texts come from the ledger.
    """

    name: str
    folder: str
    inside: str
    kept: bool
    copied: bool
    files: int
    notes: int


def plan(
    manifest: Manifest,
    home: Path,
    folders: Mapping[str, Path],
    keep: Collection[str],
    *,
    beside: bool,
    mark: str,
) -> list[Place]:
    """A place for every vault of the backup, its registered folder if nothing else is said. A folder
    that an interrupted run of the same `mark` put there is free. Raises InvalidInput for an unknown vault and a place that is taken.
    """
    known = {vault.name for vault in manifest.vaults}
    for name in (*folders, *keep):
        if name not in known:
            raise InvalidInput(
                f"the backup has no vault {name}; it has {', '.join(sorted(known))}",
                argument="folder",
            )
    _check_home(home)
    places = [_place(vault, home, folders, keep, beside=beside) for vault in manifest.vaults]
    for place in places:
        _check(place, places, home, mark)
    return places


def _check_home(home: Path) -> None:
    if not is_free(home):
        raise InvalidInput(
            f"the home {home.name} is there and not empty; nothing was touched. --merge brings what "
            "it lost back into it; --beside with --into FOLDER makes a second home; or move it away "
            "yourself",
            argument="into",
        )


def _place(
    vault: VaultCopy,
    home: Path,
    folders: Mapping[str, Path],
    keep: Collection[str],
    *,
    beside: bool,
) -> Place:
    inside = vault.inside
    folder = home / inside if inside else Path(vault.path)
    if beside and not inside:
        inside = f"vaults/{vault.name}"
        folder = home / inside
    if vault.name in folders:
        inside, folder = "", folders[vault.name]
    if inside.partition("/")[0] in _OWN:
        raise InvalidInput(
            f"vault {vault.name} would lie among the home's own files; give it a place with "
            f"--folder {vault.name}=FOLDER",
            argument="folder",
        )
    kept = vault.name in keep
    if kept and not folder.is_dir():
        raise InvalidInput(
            f"--keep {vault.name}: its folder is not there, so there is nothing to keep",
            argument="keep",
        )
    return Place(
        name=vault.name,
        folder=str(folder.resolve() if kept else folder),
        inside="" if kept else inside,
        kept=kept,
        copied=vault.copied,
        files=vault.files,
        notes=vault.notes,
    )


def _check(place: Place, places: list[Place], home: Path, mark: str) -> None:
    folder = Path(place.folder)
    for other in places:
        if other is not place and contains(Path(other.folder), folder):
            raise InvalidInput(
                f"vaults {place.name} and {other.name} would lie inside one another; give one "
                "another place with --folder",
                argument="folder",
            )
    if place.inside or place.kept:
        return
    if contains(folder, home) or contains(home, folder):
        raise InvalidInput(
            f"vault {place.name} and the home would lie inside one another; give the vault another "
            "place with --folder",
            argument="folder",
        )
    if not folder.is_absolute():
        raise InvalidInput(
            f"the folder of vault {place.name} is no path of this system; give it a place with "
            f"--folder {place.name}=FOLDER",
            argument="folder",
        )
    if not is_free(folder) and not Stage(folder).was_placed(mark):
        raise InvalidInput(
            f"the folder of vault {place.name}, {folder}, is there and not empty; nothing was "
            f"touched. --keep {place.name} leaves it as it is and takes in what differs from the "
            f"backup; --folder {place.name}=FOLDER puts the files elsewhere; --beside puts them "
            "into the new home",
            argument="folder",
        )
