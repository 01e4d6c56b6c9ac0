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
    def signing_key(self) -> Path:
        """The secret key that signs anchors of the audit: back it up, apart from the database."""
        return self.root / "anchor.key"

    @property
    def anchors(self) -> Path:
        """Anchors of the audit, and the list of the places outside that hold more."""
        return self.root / "anchors"

    @property
    def anchor_lock(self) -> Path:
        """The lock file of whoever anchors: may be deleted when nothing runs."""
        return self.root / "locks" / ".anchors.lock"

    @property
    def models(self) -> Path:
        """Rebuilt models: may be deleted."""
        return self.root / "models"

    @property
    def rulers(self) -> Path:
        """Questions made of notes, and runs on them, by vault and project: may be deleted."""
        return self.root / "eval"

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
