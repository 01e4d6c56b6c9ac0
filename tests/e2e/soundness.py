"""What must hold of a home after any crash: files and ledger agree, the chain is valid."""

from pathlib import Path

from memsvc.database import Database
from memsvc.ledger import registry
from memsvc.model.vocabulary import Status, VaultName
from memsvc.service.gateway.drafts import sha
from tests.service.world import World

__all__ = ["check_sound"]


def check_sound(world: World) -> None:
    """Assert that nothing is half written, after the home was used once."""
    verdict = world.service.audit_verify()
    assert verdict["ok"], verdict["problems"]
    leftovers = [path for path in world.vault.rglob("*") if "memsvc-tmp" in path.name]
    assert leftovers == []
    database = Database(world.root / "home" / "memsvc.db")
    with database.read() as connection:
        notes = registry.notes_of(connection, VaultName("personal"))
        assert registry.operations(connection, VaultName("personal")) == []
        on_disk = {str(path.relative_to(world.vault)) for path in world.vault.rglob("*.md")}
        living = {path for path in on_disk if not path.startswith(".trash/")}
        assert living == {note.path for note in notes}
        for note in notes:
            version = registry.find_version(connection, note.note_id, note.version)
            assert version is not None
            assert sha((world.vault / note.path).read_bytes()) == version.content_hash
            assert note.status in (Status.ACTIVE, Status.SUPERSEDED, Status.PROPOSED)
    database.close()
    assert Path(world.root / "home" / "memsvc.db").exists()
