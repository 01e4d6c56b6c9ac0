"""One run of the command line: its settings, its caller, its open service, and how it answers."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from memsvc.errors import InvalidInput, MemsvcError, StaleVersion
from memsvc.interfaces.fence import error_line
from memsvc.interfaces.outcome import crashed, error_data
from memsvc.model.replies import Json, as_data

if TYPE_CHECKING:
    from memsvc.model.identity import Caller
    from memsvc.service.api import MemoryService
    from memsvc.settings import Settings

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """The options given so far and, once a command asks for it, the open service."""

    given: dict[str, object] = field(default_factory=dict)
    as_json: bool = False
    _service: "MemoryService | None" = None

    @classmethod
    def of(cls, context: typer.Context) -> "Session":
        """The session that the groups above this context made, or a new one."""
        found = context.obj
        return found if isinstance(found, cls) else cls()

    def narrowed(self, values: Mapping[str, object]) -> "Session":
        """A session in which the given options replace those from further left."""
        rest = {key: value for key, value in values.items() if key != "as_json" and value != ""}
        return Session({**self.given, **rest}, self.as_json or bool(values.get("as_json")))

    def settings(self) -> "Settings":
        """The settings of this run. Raises Misconfigured."""
        from memsvc.settings import load_settings  # pydantic is slow to load, and --help needs none

        return load_settings(os.environ, self.given)

    def service(self) -> "MemoryService":
        """The service, opened and ready at the first call."""
        if self._service is None:
            from memsvc.bootstrap import open_service  # pulls in the stores: only where needed

            self._service = open_service(self.settings())
            self._service.ensure_ready()
        return self._service

    def caller(self, *, confirmed: str = "") -> "Caller":
        """The person at this shell, bound as the settings say."""
        from memsvc.interfaces.binding import bind  # see settings()

        caller = bind(self.settings(), door="cli", environ=os.environ, client="memsvc cli")
        return dataclasses.replace(caller, confirmed=confirmed)

    def confirmed(self, question: str, *, flag: bool) -> "Caller":
        """The caller of a guarded verb: with the flag at once, on a terminal after a yes.

        Raises InvalidInput otherwise.
        """
        if flag:
            return self.caller(confirmed="flag")
        if sys.stdin.isatty() and sys.stderr.isatty():
            if typer.confirm(question, err=True):
                return self.caller(confirmed="terminal")
            raise InvalidInput("not confirmed: nothing was changed", argument="confirm")
        raise InvalidInput(
            "this needs a person's word: add --confirm, or run it on a terminal",
            argument="confirm",
        )

    def show(self, reply: object, text: str | None = None) -> None:
        """Print a reply: as JSON where asked, else `text`, else what the verb's renderer makes."""
        if self.as_json:
            self.print_json(as_data(reply))
        elif text is not None:
            typer.echo(text)
        else:
            from memsvc.interfaces.render import render  # only commands that answer with a verb

            typer.echo(render(reply))

    def print_json(self, data: Json) -> None:
        """Print one JSON value on one line."""
        typer.echo(json.dumps(data, ensure_ascii=False))

    def run(self, act: Callable[[], None]) -> None:
        """Do a command's work; ends the process with 1, and one line on stderr, when it fails."""
        from memsvc.logs import configure_logs  # see settings()

        try:
            settings = self.settings()
            configure_logs(level=settings.log_level, form=settings.log_format)
            act()
        except MemsvcError as error:
            raise self._failed(error) from None
        except (BrokenPipeError, EOFError, typer.Exit, typer.Abort):
            raise
        except Exception as error:  # noqa: BLE001 - the outermost handler; the type is logged
            raise self._failed(crashed("command_crashed", error)) from None
        finally:
            if self._service is not None:
                self._service.close()

    def _failed(self, error: MemsvcError) -> typer.Exit:
        if self.as_json:
            self.print_json(error_data(error))
        elif isinstance(error, StaleVersion):
            from memsvc.interfaces.render import render_current  # only for this error

            typer.echo(render_current(error))
        typer.echo(f"memsvc: {error_line(error)}", err=True)
        return typer.Exit(1)
