"""Every error that memsvc raises on purpose.

MemsvcError
├── InvalidInput            the request itself is wrong; fix the named argument
│   └── UnsafePath          a path leaves the vault or is not a legal note path
├── NotFound                unknown, forgotten and out of scope look the same
├── Denied                  the caller's role does not allow it
├── Refused                 the gateway's policy says no
│   ├── RejectedClaim       the text repeats something that was rejected here
│   ├── SecretFound         the text holds a credential
│   ├── RecalledText        the text came out of recall itself
│   └── OverBudget          the caller wrote too often within the hour
├── StaleVersion            the note changed since the caller read it
├── Uneditable              the file's frontmatter cannot be edited without harm
├── VaultOffline            the vault's folder is unreadable or lost its notes
├── StorageFailed           the disk or the database refused the write
├── ModelUnavailable        a model did not arrive, or failed at work; words go on without it
└── Misconfigured           settings, keys or the database schema are wrong

Each class has a stable `code`; the message says what was asked, what is so and what to do, and
`data` carries the same facts. Messages never hold note text, query text, another scope's names, or
a path outside the vault.
"""

__all__ = [
    "Denied",
    "InvalidInput",
    "MemsvcError",
    "Misconfigured",
    "ModelUnavailable",
    "NotFound",
    "OverBudget",
    "RecalledText",
    "Refused",
    "RejectedClaim",
    "SecretFound",
    "StaleVersion",
    "StorageFailed",
    "Uneditable",
    "UnsafePath",
    "VaultOffline",
]


class MemsvcError(Exception):
    """Base of all; `code` is stable, `data` holds the message's facts as JSON values."""

    code = "error"

    def __init__(self, message: str, **data: "str | int | list[str] | None") -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, str | int | list[str] | None] = data


class InvalidInput(MemsvcError):
    """An argument cannot be used; `data["argument"]` names it."""

    code = "invalid_input"


class UnsafePath(InvalidInput):
    """A path leaves the vault or is not a legal note path."""

    code = "unsafe_path"


class NotFound(MemsvcError):
    """Nothing by that name within the caller's scope, whatever the reason."""

    code = "not_found"


class Denied(MemsvcError):
    """The caller may see the thing but not do this to it."""

    code = "denied"


class Refused(MemsvcError):
    """The gateway's policy refuses the write; the refusal is on record."""

    code = "refused"


class RejectedClaim(Refused):
    """The text states something that was rejected in this scope."""

    code = "rejected_claim"


class SecretFound(Refused):
    """The text holds a credential; `data["rule"]` names the rule, never the value."""

    code = "secret_found"


class RecalledText(Refused):
    """The text is a recall reply being saved again."""

    code = "recalled_text"


class OverBudget(Refused):
    """The caller used up the writes that the vault allows in an hour."""

    code = "over_budget"


class StaleVersion(MemsvcError):
    """The note has a newer version; `data` holds it and the current text."""

    code = "stale_version"


class Uneditable(MemsvcError):
    """The file's frontmatter cannot be edited without changing what nobody asked to change."""

    code = "uneditable"


class VaultOffline(MemsvcError):
    """The vault's folder is unreadable or lost most of its notes; nothing was removed."""

    code = "vault_offline"


class StorageFailed(MemsvcError):
    """The disk or the database refused; nothing was half written."""

    code = "storage_failed"


class ModelUnavailable(MemsvcError):
    """A model could not be fetched, or failed while it worked; search by words goes on."""

    code = "model_unavailable"


class Misconfigured(MemsvcError):
    """Settings, keys or schema are wrong; the message says which and how to mend it."""

    code = "misconfigured"
