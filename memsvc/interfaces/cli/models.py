"""Commands for models: list, fetch, use, embed and prune."""

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from memsvc.interfaces.cli.options import command, global_options
from memsvc.interfaces.cli.progress import progress_bar
from memsvc.interfaces.cli.session import Session

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    model = typer.Typer(no_args_is_help=True)
    global_options(model)
    command(model, "list")(list_models)
    command(model, "fetch")(fetch)
    command(model, "use")(use)
    command(model, "embed")(embed)
    command(model, "prune")(prune)
    app.add_typer(
        model, name="model", help="Models for search by meaning.", rich_help_panel="Upkeep"
    )


def list_models(session: Session) -> None:
    """List the models that can be used, and which is."""
    from memsvc.ops import models  # reads the catalogue: only where needed

    found = models.list_models(session.settings())
    session.show(found, "\n".join(_line(one) for one in found))


def fetch(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model that `model list` shows.")],
    *,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="URL|FOLDER",
            help="A mirror of the hub, or a folder with the files, for a machine without a network.",
        ),
    ] = "",
) -> None:
    """Download a model into the home; every file is checked against its pinned SHA-256.

    A download that broke off goes on where it stopped.
    """
    from memsvc.ops import models  # see list_models

    with progress_bar(name) as progress:
        reply = models.fetch_model(session.settings(), name, source=source, progress=progress)
    text = f"{_facts(reply)}\nuse it: memsvc model use {reply['name']}"
    session.show(reply, text)


def use(
    session: Session,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="packaged, none, a fetched model, or folder:/path."),
    ],
    *,
    kind: Annotated[
        str, typer.Option("--as", help="embedder or reranker; only 'none' needs it.")
    ] = "",
) -> None:
    """Use a model from the next start on: it is tried once, then written into memsvc.toml.

    Search goes on by words for passages that it has not read; `model embed` has it read them.
    """
    from memsvc.ops import models  # see list_models

    reply = models.use_model(session.settings(), name, kind=kind)
    key = str(reply["setting"])
    text = f"{key} is now {reply['value']}; running servers go on with the old one"
    in_force = getattr(session.settings(), key)
    if in_force != reply["value"]:
        text += f"\nbut MEMSVC_{key.upper()}={os.environ.get(f'MEMSVC_{key.upper()}')} overrides it"
    elif key == "embedder" and reply["value"] != "none":
        state = session.service().model_state(session.caller())
        reply |= state
        if state["without_vector"]:
            text += f"\n{state['without_vector']} passages wait for it; run `memsvc model embed`"
    session.show(reply, text)


def embed(session: Session) -> None:
    """Give every passage its vector of the model in use; what is done stays done when stopped."""
    from memsvc.errors import ModelUnavailable  # see list_models

    service, caller = session.service(), session.caller()
    with progress_bar("embed") as progress:
        given = service.embed_all(progress)
    state = service.model_state(caller)
    if state["model"] != "ready":
        raise ModelUnavailable(f"there is no model: {state['model_problem']}")
    session.show({"given": given, **state}, _facts({"given": given, **state}))


def prune(session: Session) -> None:
    """Drop the vectors of models that are not in use, once the one in use has read everything."""
    reply = session.service().forget_other_models(session.caller())
    session.show(reply, f"{reply['removed']} vectors of other models dropped")


def _line(one: Mapping[str, object]) -> str:
    mark = "*" if one["in_use"] else " "
    size = f"{one['mib']} MiB" if one["mib"] else ""
    facts = (one["kind"], one["state"], size, one["licence"], one["about"])
    return f"{mark} {one['name']:<24} {' · '.join(str(fact) for fact in facts if fact)}"


def _facts(facts: Mapping[str, object]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value not in ("", None))
