"""Commands for homes and vaults: init, vault add, list, remove, accept and policy."""

from collections.abc import Mapping
from typing import Annotated

import typer

from memsvc.errors import InvalidInput
from memsvc.interfaces.cli.notes import Confirm
from memsvc.interfaces.cli.options import command, global_options
from memsvc.interfaces.cli.session import Session

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "init", panel="Setup")(init)
    vault = typer.Typer(no_args_is_help=True)
    global_options(vault)
    command(vault, "add")(add)
    command(vault, "list")(list_vaults)
    command(vault, "remove")(remove)
    command(vault, "accept")(accept)
    command(vault, "policy")(policy)
    app.add_typer(
        vault, name="vault", help="Folders of notes that memsvc serves.", rich_help_panel="Setup"
    )


def init(session: Session) -> None:
    """Make the home and its first vault, if they are missing, and show them."""
    session.show(session.service().scopes(session.caller()))


def add(
    session: Session,
    name: Annotated[str, typer.Argument(help="What the vault is called, for example team.")],
    path: Annotated[str, typer.Argument(help="Its folder; existing notes stay where they are.")],
    *,
    mapping: Annotated[
        list[str],
        typer.Option(
            "--map", metavar="FOLDER=PROJECT", help="A folder that is a project; repeatable."
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            help="folders (each top folder is a project), mapped (only --map; the rest is shared) "
            "or auto (mapped if the folder already holds notes).",
        ),
    ] = "auto",
) -> None:
    """Register a folder of notes as a vault."""
    projects: dict[str, str] = {}
    for entry in mapping:
        folder, separator, project = entry.partition("=")
        if not separator or not folder or not project:
            raise InvalidInput("--map takes FOLDER=PROJECT", argument="map")
        projects[folder] = project
    reply = session.service().vault_add(session.caller(), name, path, projects, layout)
    session.show(reply, f"vault {name} added\n{_facts(reply)}")


def list_vaults(session: Session) -> None:
    """List the vaults of this home."""
    vaults = session.service().vault_list()
    session.show(vaults, "\n".join(_line(vault) for vault in vaults) or "no vaults")


def remove(
    session: Session, name: Annotated[str, typer.Argument(help="The vault to take out.")]
) -> None:
    """Stop serving a vault; its files stay."""
    reply = session.service().vault_remove(session.caller(), name)
    session.show(reply, f"vault {name} removed; its files stay\n{_facts(reply)}".rstrip())


def accept(
    session: Session,
    name: Annotated[str, typer.Argument(help="The vault that lost its notes.")],
    *,
    confirm: Confirm = False,
) -> None:
    """Believe that the notes which an offline vault lost are deleted, and bring it online."""
    caller = session.confirmed(f"Forget the notes that vault {name} lost?", flag=confirm)
    reply = session.service().vault_accept(caller, name)
    session.show(reply, _facts(reply))


def policy(
    session: Session,
    name: Annotated[str, typer.Argument(help="The vault.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE…",
            help="review=none|agents|all, external_edits=trust|propose, secrets=on|off, "
            "max_note=CHARACTERS, write_budget=WRITES (an agent's in an hour, 0 for no limit), "
            "shared=all|people|agent:NAME,…; an empty value brings the default back.",
        ),
    ] = None,
) -> None:
    """Show a vault's policy, or set parts of it; each change is an audit event."""
    reply = session.service().vault_policy(session.caller(), name, settings or [])
    session.show(reply, "\n".join(f"{key}={value}" for key, value in reply.items()))


def _facts(facts: Mapping[str, object]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value not in ("", None))


def _line(vault: Mapping[str, object]) -> str:
    name, path = vault.get("name", ""), vault.get("path", "")
    rest = {key: value for key, value in vault.items() if key not in ("name", "path")}
    facts = ", ".join(f"{key} {value}" for key, value in rest.items() if value not in ("", None))
    return f"{name}  {path}  {facts}".rstrip()
