"""Binds a process to one vault, project and principal; nothing of it comes from a call's argument."""

import getpass
import re
from collections.abc import Mapping
from pathlib import Path

from memsvc.errors import InvalidInput, Misconfigured
from memsvc.model.identity import Caller, Principal
from memsvc.model.vocabulary import SHARED, PrincipalKind, ProjectSlug
from memsvc.scope.names import check_project, check_vault, project_slug
from memsvc.settings import DEFAULT_VAULT, Settings

__all__ = ["auto_project", "bind", "named_by_client", "principal_name", "system_user"]

AUTO = "auto"
_FALLBACK_AGENT = "mcp"
_HUMAN = f"{PrincipalKind.HUMAN}:"
_MAX_NAME = 64


def bind(
    settings: Settings,
    *,
    door: str,
    environ: Mapping[str, str],
    folder: Path | None = None,
    client: str = "",
) -> Caller:
    """The caller that a process of this door speaks for.

    Through the door `mcp` it is an agent or a service, named by the settings or else by `client`,
    the connected program's own name; a human in the settings is then whom it acts for. Through
    `cli` a name without a kind is a human, by default the user of the operating system. `folder`
    is where `auto` starts to look, by default the working folder. Raises Misconfigured when a name
    is not legal.
    """
    try:
        vault = check_vault(settings.vault or DEFAULT_VAULT)
        project = _project(settings.project, folder)
    except InvalidInput as error:
        raise Misconfigured(f"{error.message} (from the settings)", **error.data) from error
    principal, behalf = _principal(settings.principal, door, client)
    return Caller(
        principal=principal,
        vault=vault,
        project=project,
        door=door,
        on_behalf_of=settings.on_behalf_of or behalf,
        client=client,
        session=settings.session or environ.get("CLAUDE_CODE_SESSION_ID", "")[:128],
    )


def principal_name(text: str) -> str:
    """A legal name of a principal made of any text, such as the name an MCP client gives itself."""
    name = re.sub(r"[^\w.@-]+", "-", text.strip().lower())
    return re.sub(r"-{2,}", "-", name).strip("-._@")[:_MAX_NAME]


def system_user() -> str:
    """The name of the user of the operating system, or `owner` where there is none."""
    try:
        return principal_name(getpass.getuser()) or "owner"
    except (OSError, KeyError):
        return "owner"


def auto_project(folder: Path) -> ProjectSlug:
    """The project of a folder: the enclosing git repository's main worktree, else the folder's name.

    A linked worktree is its repository's project, a submodule one of its own. The user's home and
    the root of the file system are `shared`, whatever lies in them.
    """
    start = folder.resolve()
    plain = (Path.home().resolve(), Path(start.anchor))
    if start in plain:
        return SHARED
    for candidate in (start, *start.parents):
        if candidate in plain:
            break
        root = _repository(candidate)
        if root is not None:
            return project_slug(root.name.removesuffix(".git") or root.name)
    return project_slug(start.name)


def _repository(folder: Path) -> Path | None:
    """The folder whose name stands for the repository that `folder` is the top of, if it is one."""
    marker = folder / ".git"
    if (marker / "HEAD").is_file():
        return folder
    try:
        pointer = marker.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    if not pointer.startswith("gitdir:"):
        return None
    git_dir = (folder / pointer.removeprefix("gitdir:").strip()).resolve()
    try:
        common = (git_dir / "commondir").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return folder
    shared = (git_dir / common).resolve()
    return shared.parent if shared.name == ".git" else shared


def _project(setting: str, folder: Path | None) -> ProjectSlug:
    if setting and setting != AUTO:
        return check_project(setting)
    try:
        return auto_project(folder or Path.cwd())
    except FileNotFoundError as error:
        raise Misconfigured(
            "the working folder is gone; name the project with --project"
        ) from error


def named_by_client(settings: Settings) -> bool:
    """Whether a program that connects over MCP gives the principal its name."""
    return not settings.principal or settings.principal.startswith(_HUMAN)


def _principal(setting: str, door: str, client: str) -> tuple[Principal, str]:
    """The principal, and whom it acts for."""
    kind, separator, name = setting.rpartition(":")
    if door == "mcp" and (not setting or kind == PrincipalKind.HUMAN):
        # What runs behind this door is a program, whatever the shell that started it is set to.
        agent = principal_name(client) or _FALLBACK_AGENT
        return Principal(PrincipalKind.AGENT, agent), name
    if separator:
        return Principal(PrincipalKind(kind), name), ""
    if door == "mcp":
        return Principal(PrincipalKind.AGENT, name), ""
    return Principal(PrincipalKind.HUMAN, name or system_user()), ""
