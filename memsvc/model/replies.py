"""What the verbs answer: plain values that every interface renders in its own way.

`as_data` turns any of them into the JSON that travels as `memsvc/result`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import cast

__all__ = [
    "CorrectReply",
    "Coverage",
    "EventView",
    "ForgetReply",
    "HistoryReply",
    "Hit",
    "Json",
    "NoteView",
    "RecallReply",
    "Related",
    "RestoreReply",
    "SaveReply",
    "ScopesReply",
    "TextChange",
    "TextHistoryReply",
    "VersionView",
    "as_data",
]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Another note, named: similar, linking, linked, or stating the same claim."""

    id: str
    title: str
    scope: str
    version: int = 0
    score: float = 0.0
    how: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveReply:
    """`outcome` is created, unchanged or proposed; `event` is the audit sequence number."""

    outcome: str
    id: str
    path: str
    version: int
    scope: str
    event: int
    superseded: list[str] = field(default_factory=list)
    similar: list[Related] = field(default_factory=list)
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectReply:
    """The note after the correction; `tombstones` counts claims rejected by it."""

    outcome: str
    mode: str
    id: str
    path: str
    version: int
    scope: str
    event: int
    tombstones: int = 0
    valid_from: str = ""
    also_stated_in: list[Related] = field(default_factory=list)
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReply:
    """`outcome` is retracted, passage_removed or purged; `trash` is where the file went, in the vault.

    `derived` are notes whose source the note is, whether or not they were retracted too. Of a purge,
    `erased` counts the files that were removed, `also_purged` are notes that had been proposed as its
    new text, and `out_of_reach` says where the text may still be.
    """

    outcome: str
    id: str
    version: int
    scope: str
    event: int
    tombstones: int
    path: str = ""
    trash: str = ""
    also_stated_in: list[Related] = field(default_factory=list)
    derived: list[Related] = field(default_factory=list)
    erased: int = 0
    also_purged: list[str] = field(default_factory=list)
    out_of_reach: list[str] = field(default_factory=list)
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReply:
    """`outcome` is restored, or unchanged when the note stands so already.

    `restored` is the version whose text came back, `version` the one that now holds it; `lifted`
    counts the rejections that were lifted.
    """

    outcome: str
    id: str
    version: int
    restored: int
    scope: str
    event: int
    path: str
    lifted: int = 0
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One note found. `text` is the best passage, or the whole body with detail=full.

    Of a whole body that is cut, `text` is what begins at character `start` of `length`; its best
    passage begins at `best`. All three are 0 for a passage.
    """

    id: str
    version: int
    title: str
    scope: str
    path: str
    kind: str
    status: str
    trust: str
    author: str
    valid_from: str
    valid_to: str
    updated: str
    source: list[str]
    heading: str
    text: str
    cut: bool
    current: bool
    score: float
    superseded_by: str = ""
    replaces: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    same_as: list[str] = field(default_factory=list)
    """Other notes that say the same in the same words."""
    start: int = 0
    length: int = 0
    best: int = 0
    explain: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a recall covered: scopes, arms with their state, what was withheld, index progress."""

    scopes: list[str]
    arms: dict[str, str]
    withheld: dict[str, int] = field(default_factory=dict)
    indexed: int = 0
    waiting: int = 0
    without_vector: int = 0
    cut: bool = False
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallReply:
    """Hits, best first; `abstained` with a `reason` when nothing was good enough.

    `nearest` names notes that may still be worth reading when the recall abstained in doubt.
    """

    scope: str
    query_hash: str
    count: int
    hits: list[Hit]
    coverage: Coverage
    abstained: bool = False
    reason: str = ""
    nearest: list[Related] = field(default_factory=list)
    tokens: int = 0
    took_ms: float = 0.0
    explain: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """One version's windows and who made it; times are ISO 8601 text, empty for open."""

    version: int
    valid_from: str
    valid_to: str
    recorded_from: str
    recorded_to: str
    author: str
    mode: str
    reason: str
    event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteView:
    """A whole note with provenance, links in and out, and its versions.

    `body` is the text from character `offset` on, of `length` in all. With `withheld`, which says why,
    there is no title, text, source or tag: the caller may not see what was rejected.
    """

    id: str
    version: int
    title: str
    scope: str
    path: str
    kind: str
    status: str
    trust: str
    author: str
    on_behalf_of: str
    session: str
    reason: str
    created: str
    updated: str
    valid_from: str
    valid_to: str
    source: list[str]
    tags: list[str]
    supersedes: list[str]
    superseded_by: str
    body: str
    content_hash: str
    offset: int = 0
    length: int = 0
    current: bool = True
    corroborated: int = 0
    problem: str = ""
    withheld: str = ""
    links_out: list[Related] = field(default_factory=list)
    links_in: list[Related] = field(default_factory=list)
    versions: list[VersionView] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    """One audit event, as the contract lists its fields; `detail` holds no text."""

    seq: int
    at: str
    action: str
    outcome: str
    vault: str
    project: str
    note_id: str
    version: int
    actor: str
    on_behalf_of: str
    client: str
    session: str
    request_id: str
    reason: str
    before_hash: str
    after_hash: str
    detail: dict[str, Json]
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReply:
    """Events, newest first; `next` is the `before` of the following page, 0 at the end."""

    scope: str
    events: list[EventView]
    next: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """What one version changed in the text of the file: `diff` in unified form, against `against`,
    0 for the empty text. `fate` says how the older text ended: wrong, changed, amend …

    `cut` when the difference is longer than what is shown; `problem` when there is none to show.
    """

    version: int
    against: int
    at: str
    author: str
    mode: str
    reason: str
    event: int
    fate: str
    added: int
    removed: int
    diff: str
    cut: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHistoryReply:
    """A note's texts, newest change first; `next` is the `before` of the following page, 0 at the end."""

    id: str
    title: str
    scope: str
    path: str
    status: str
    changes: list[TextChange]
    next: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopesReply:
    """Who the caller is and what it may see and write."""

    principal: str
    on_behalf_of: str
    home: str
    vault: str
    project: str
    vault_path: str
    reads: list[str]
    writes: list[str]
    role: str
    policy: dict[str, str]
    state: str
    notes: int
    index: dict[str, Json]
    problems: list[str] = field(default_factory=list)


def as_data(value: object) -> Json:
    """Any reply as JSON values: dataclasses become objects, enums their text."""
    if isinstance(value, Enum):
        return cast("str", value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: as_data(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_data(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")
