"""The options that every command takes, before or after its name, and how a command is registered."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from memsvc import __version__
from memsvc.interfaces.cli.session import Session

__all__ = ["command", "global_options"]

_PANEL = "Options of every command"

Home = Annotated[
    str,
    typer.Option(
        "--home",
        metavar="FOLDER",
        help="Folder of database and keys (MEMSVC_HOME; ~/.memsvc).",
        rich_help_panel=_PANEL,
    ),
]
Vault = Annotated[
    str,
    typer.Option(
        "--vault",
        metavar="NAME",
        help="Vault to work in (MEMSVC_VAULT; personal).",
        rich_help_panel=_PANEL,
    ),
]
Project = Annotated[
    str,
    typer.Option(
        "--project",
        metavar="NAME",
        help="Project to work in (MEMSVC_PROJECT); auto is the git repository around you.",
        rich_help_panel=_PANEL,
    ),
]
Principal = Annotated[
    str,
    typer.Option(
        "--principal",
        metavar="KIND:NAME",
        help="Who calls (MEMSVC_PRINCIPAL; human and your user name).",
        rich_help_panel=_PANEL,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the reply as JSON, errors too.", rich_help_panel=_PANEL),
]

_GLOBAL = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, annotation, default in (
        ("home", Home, ""),
        ("vault", Vault, ""),
        ("project", Project, ""),
        ("principal", Principal, ""),
        ("as_json", AsJson, False),
    )
]
_CONTEXT = inspect.Parameter(
    "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        typer.echo(f"memsvc {__version__}")
        raise typer.Exit


_VERSION = inspect.Parameter(
    "version",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and end.",
        ),
    ],
)
_NAMES = [parameter.name for parameter in _GLOBAL]


def command(
    app: typer.Typer, name: str, *, panel: str | None = None, answers: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the command `name`: its first parameter is the Session, the others
    become options and arguments, and the options of every command are added. One that `answers`
    runs under the session's handling of errors; the other has a protocol of its own for them.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - typer's values
            given = {key: values.pop(key) for key in _NAMES}
            session = Session.of(context).narrowed(given)
            if answers:
                session.run(lambda: function(session, **values))
            else:
                function(session, **values)

        _give_signature(run, [_CONTEXT, *own, *_GLOBAL])
        app.command(name, help=inspect.getdoc(function), rich_help_panel=panel)(run)
        return function

    return register


def global_options(app: typer.Typer, *, version: bool = False) -> None:
    """Let the group take the options of every command too, before its command's name."""

    def remember(context: typer.Context, **values: Any) -> None:  # noqa: ANN401 - typer's values
        values.pop("version", None)
        context.obj = Session.of(context).narrowed(values)

    _give_signature(remember, [_CONTEXT, *_GLOBAL, *([_VERSION] if version else [])])
    app.callback()(remember)


def _give_signature(function: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """What typer reads to know a command's options."""
    as_keywords = [
        parameters[0],
        *(part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in parameters[1:]),
    ]
    setattr(function, "__signature__", inspect.Signature(as_keywords))  # noqa: B010 - mypy knows no such attribute
    function.__annotations__ = {part.name: part.annotation for part in parameters}
