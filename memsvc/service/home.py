"""Where a home keeps its things."""

from dataclasses import dataclass
from pathlib import Path

from memsvc.model.vocabulary import VaultName

__all__ = ["Home"]


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one memsvc installation; by default `~/.memsvc`."""

    root: Path

    @property
    def database(self) -> Path:
        """Ledger and index: back it up."""
        return self.root / "memsvc.db"

    @property
    def keys(self) -> Path:
        """The secret keys of tombstones: back them up, apart from the database."""
        return self.root / "tombstone.keys"

    @property
    def models(self) -> Path:
        """Rebuilt models: may be deleted."""
        return self.root / "models"

    @property
    def personal(self) -> Path:
        """The vault that is made when nothing is configured."""
        return self.root / "personal"

    def lock(self, vault: VaultName) -> Path:
        """The lock file that writers of one vault hold: may be deleted when nothing runs."""
        return self.root / "locks" / f"{vault}.lock"

    def make(self) -> None:
        """Create the folders, for the owner only."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.root / "locks").mkdir(exist_ok=True, mode=0o700)
