"""The review queue for the person who decides: listed in groups, shown with differences, decided."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import Denied, InvalidInput, MemsvcError, NotFound
from memsvc.ledger import reader, registry
from memsvc.ledger.records import VersionRecord
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json, as_data
from memsvc.model.requests import DecisionRequest, ReviewFilter
from memsvc.model.vocabulary import ProjectSlug, ReviewKind, VaultName
from memsvc.service import access
from memsvc.service.audit import AuditDesk
from memsvc.service.gateway.checks import Statement
from memsvc.service.gateway.review.holding import NO_ITEM
from memsvc.service.likeness import group_token, likeness_groups

__all__ = ["ReviewDesk"]

Row = dict[str, Json]

_ALL = ReviewFilter()


class ReviewDesk(AuditDesk):
    """The part of the service that asks a person, and does what they decide."""

    _embedder: LazyEmbedder

    def _look(self, vault: VaultName, *, quiet: bool = False) -> list[str]:
        raise NotImplementedError

    def reviews(self, caller: Caller, wanted: ReviewFilter = _ALL) -> list[Row]:
        """What waits for a person's decision, oldest first.

        For a person each item has its `title`, its `source` (where the text comes from) and its
        `likeness`, the name of the group of items in its scope that say much the same, with `alike`,
        how many those are.
        """
        self.ensure_ready()
        if caller.principal.is_person:
            with self._database.read() as connection:
                vaults = registry.vaults(connection)
            for vault in vaults:  # what was edited since would wait under another id
                self._look(vault.name, quiet=True)
        with self._database.read() as connection:
            rows = reader.reviews(access.oversight(connection, caller), connection)
            if caller.principal.is_person:
                _add_groups(connection, rows)
        return [row for row in rows if _is_wanted(row, wanted)]

    def review_show(self, caller: Caller, review_id: str) -> Row:
        """One item with its text, why it waits, and how it differs from what stands.

        It shows withheld text, so it is for a person. Raises Denied, NotFound.
        """
        self.ensure_ready()
        from memsvc.service.review_page import review_page  # compares texts: only when asked

        if not caller.principal.is_person:
            with self._gateway.on_record(caller):
                raise Denied("a review shows withheld text: it is for a person")
        wanted = review_id.strip().upper()
        with self._database.read() as connection:
            row = _open_row(connection, caller, wanted)
            note = registry.find_note(connection, str(row["note_id"]))
        if note is not None:
            self._gateway.refresh(note.vault, [note.path])
        with self._database.read() as connection:
            row = _open_row(connection, caller, wanted)
            scope = Scope(VaultName(str(row["vault"])), ProjectSlug(str(row["project"])))
            around = access.around(connection, caller, scope)
            return review_page(around, connection, row, embedder=self._embedder.ready())

    def decide(self, caller: Caller, request: DecisionRequest) -> Row:
        """One item decided, in one transaction with its event; for a person.

        Approving needs a confirmation. Raises NotFound, Denied, InvalidInput, the Refused family,
        Uneditable, StorageFailed, VaultOffline.
        """
        self.ensure_ready()
        reply, purged = self._gateway.decide(caller, request)
        report = reply.get("purge")
        if isinstance(report, dict):
            report["also_stated_in"] = self._also_stated(caller, report, purged)
        return reply

    def _also_stated(self, caller: Caller, report: Row, purged: Sequence[Statement]) -> list[Json]:
        """The notes around a purged one that state the same."""
        from memsvc.service.echoes import stating  # reads candidates: only after a purge

        vault, _, project = str(report["scope"]).partition("/")
        place = Scope(VaultName(vault), ProjectSlug(project))
        with self._database.read() as connection:
            scope = access.around(connection, caller, place)
        found = stating(scope, self._database, list(purged), without=str(report["id"]))
        return [as_data(one) for one in found]

    def decide_all(
        self, caller: Caller, request: DecisionRequest, *, ids: Sequence[str]
    ) -> dict[str, Json]:
        """Several items decided alike, each in a transaction of its own: `decided` and `failed`."""
        decided: list[Json] = []
        failed: list[Json] = []
        for one in dict.fromkeys(ids):
            try:
                decided.append(self.decide(caller, replace(request, id=one)))
            except MemsvcError as error:
                failed.append({"review": one, "code": error.code, "message": error.message})
        return {"decided": decided, "failed": failed}

    def kinds(self, caller: Caller, ids: Sequence[str]) -> set[str]:
        """The kinds of these items, as far as there are such items for the caller."""
        self.ensure_ready()
        with self._database.read() as connection:
            scope = access.oversight(connection, caller)
            rows = [row for one in ids for row in reader.reviews(scope, connection, review_id=one)]
        return {str(row["kind"]) for row in rows}

    def selected(self, caller: Caller, ids: Sequence[str], wanted: ReviewFilter) -> list[str]:
        """The ids that are named, and those of the open items that a filter picks.

        A source alone picks no request to purge: it cannot be undone, so it is meant or it is not.
        Raises InvalidInput when nothing is named or picked, NotFound for a group of likeness that
        is not there as it was listed.
        """
        named = [one.strip().upper() for one in ids if one.strip()]
        if wanted == _ALL:
            if not named:
                raise InvalidInput(
                    "name the items by their ids, or pick them with --source, --kind, --likeness",
                    argument="ids",
                )
            return named
        if wanted.kind and wanted.kind not in tuple(ReviewKind):
            raise InvalidInput(f"kind is one of {', '.join(ReviewKind)}", argument="kind")
        picked = [
            str(row["review_id"])
            for row in self.reviews(caller, wanted)
            if wanted.kind or wanted.likeness or row["kind"] != ReviewKind.PURGE_REQUEST
        ]
        if not picked and wanted.likeness:
            raise NotFound(
                "no such group of like items now: it changed since it was listed; look again",
                argument="likeness",
            )
        if not picked and not named:
            raise NotFound("no open review item is like that; `memsvc review list` shows them")
        return [*named, *picked]


def _open_row(connection: Connection, caller: Caller, review_id: str) -> Row:
    scope = access.oversight(connection, caller)
    rows = reader.reviews(scope, connection, review_id=review_id) if review_id else []
    if not rows or rows[0]["state"] != "open":
        raise NotFound(NO_ITEM)
    return rows[0]


def _is_wanted(row: Row, wanted: ReviewFilter) -> bool:
    pairs = (
        (wanted.kind, row.get("kind")),
        (wanted.source, row.get("source")),
        (wanted.likeness, row.get("likeness")),
        (wanted.vault, row.get("vault")),
        (wanted.project, row.get("project")),
    )
    return all(not asked or asked == present for asked, present in pairs)


def _add_groups(connection: Connection, rows: list[Row]) -> None:
    """Give each row its title, source, likeness and how many are alike."""
    for scope_rows in _by_scope(rows):
        texts: dict[str, str] = {}
        for row in scope_rows:
            number = row["version"]
            found = registry.find_version(
                connection, str(row["note_id"]), number if isinstance(number, int) else 0
            )
            row["title"] = found.title if found else ""
            row["source"] = _source_of(found) if found else ""
            body = f"{found.title}\n{found.body}" if found else ""
            texts[str(row["review_id"])] = f"{row['kind']}\n{body}"
        groups = {key: group for group in likeness_groups(texts) for key in group}
        for row in scope_rows:
            group = groups[str(row["review_id"])]
            row["likeness"], row["alike"] = group_token(group), len(group)


def _by_scope(rows: list[Row]) -> Iterator[list[Row]]:
    scopes = dict.fromkeys((row["vault"], row["project"]) for row in rows)
    for scope in scopes:
        yield [row for row in rows if (row["vault"], row["project"]) == scope]


def _source_of(version: VersionRecord) -> str:
    """Where a text comes from, without the place within it; its session or author if it says not."""
    if version.source:
        return version.source[0].partition("#")[0].strip() or version.source[0]
    return f"session:{version.session}" if version.session else version.author
