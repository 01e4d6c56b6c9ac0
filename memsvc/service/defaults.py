"""Who acts when memsvc sets itself up: the person the process runs as."""

import getpass

from memsvc.model.identity import Caller, Principal
from memsvc.model.vocabulary import SHARED, PrincipalKind, VaultName

__all__ = ["owner_caller"]


def owner_caller() -> Caller:
    """The operating system's user, as the owner of the home."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = "owner"
    return Caller(Principal(PrincipalKind.HUMAN, name), VaultName("personal"), SHARED, door="setup")
