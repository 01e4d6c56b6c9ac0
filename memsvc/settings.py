"""Settings of one process: `memsvc.toml` in the home, then MEMSVC_* variables, then arguments."""

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from memsvc.errors import Misconfigured

__all__ = [
    "DEFAULT_VAULT",
    "EMBEDDERS",
    "FILE_NAME",
    "RERANKERS",
    "LogFormat",
    "LogLevel",
    "Settings",
    "load_settings",
    "write_setting",
]

FILE_NAME = "memsvc.toml"
DEFAULT_VAULT = "personal"
"""The vault that a process is bound to, and that is made, when nothing names another."""

EMBEDDERS = ("multilingual-e5-small", "bge-small-en-v1.5")
RERANKERS = ("ms-marco-MiniLM-L-6-v2",)
"""Models that `memsvc model fetch` knows, by what they are for."""

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]

_PREFIX = "MEMSVC_"
_PRINCIPAL = re.compile(r"(?:(?:human|agent|service):)?[^\W_](?:[\w.@-]{0,63})\Z")
_LIKE_A_TYPO = 0.8


class Settings(BaseModel):
    """Everything a process is told from outside; each field is a key of `memsvc.toml` (but `home`)
    and a variable `MEMSVC_<FIELD>`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    home: Path = Field(default=Path("~/.memsvc"), description="Folder of database, keys and logs.")
    vault: str = Field(default="", description="Vault of this process; empty is 'personal'.")
    project: str = Field(
        default="",
        description="Project of this process; empty or 'auto' is the enclosing git repository's name.",
    )
    principal: str = Field(default="", description="Who calls, as kind:name or a bare name.")
    on_behalf_of: str = Field(default="", max_length=128, description="Whom the caller acts for.")
    session: str = Field(
        default="", max_length=128, description="Name of the session, for the audit."
    )
    database_url: str = Field(default="", description="Database; empty is SQLite in the home.")
    embedder: str = Field(
        default="packaged",
        description="Model for meaning search: 'packaged', the name of a fetched model, "
        "'folder:/path' of a local one, or 'none', which leaves only words.",
    )
    reranker: str = Field(
        default="none",
        description="Model that reads question and passage together: the name of a fetched one, "
        "'folder:/path', or 'none'.",
    )
    log_level: LogLevel = Field(default="warning", description="Least level that is logged.")
    log_format: LogFormat = Field(
        default="auto", description="'auto' is console on a terminal, else JSON lines."
    )

    @field_validator("home")
    @classmethod
    def _whole_path(cls, value: Path) -> Path:
        try:
            return value.expanduser().absolute()
        except RuntimeError as error:
            raise ValueError("the home folder of that user is not known") from error

    @field_validator("principal")
    @classmethod
    def _kind_and_name(cls, value: str) -> str:
        if value and not _PRINCIPAL.match(value):
            raise ValueError("use kind:name with kind human, agent or service, or a bare name")
        return value

    @field_validator("embedder")
    @classmethod
    def _known_embedder(cls, value: str) -> str:
        return _model(value, ("packaged", "none", *EMBEDDERS))

    @field_validator("reranker")
    @classmethod
    def _known_reranker(cls, value: str) -> str:
        return _model(value, ("none", *RERANKERS))

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


def load_settings(
    environ: Mapping[str, str], overrides: Mapping[str, object] | None = None
) -> Settings:
    """The settings of a process; empty text in `environ` or `overrides` counts as not given.

    Raises Misconfigured, in one line that names the key, where it stands and what is legal.
    """
    given = {name: value for name, value in (overrides or {}).items() if value not in ("", None)}
    from_environ = _environment(environ)
    home = _validated({"home": given.get("home", from_environ.get("home", "~/.memsvc"))}).home
    merged = {**_file(home / FILE_NAME), **from_environ, **given, "home": home}
    origins = {
        **dict.fromkeys(from_environ, "the environment"),
        **dict.fromkeys(given, "the arguments"),
    }
    return _validated(merged, origins)


def write_setting(home: Path, key: str, value: str) -> None:
    """Set one key in the home's `memsvc.toml`; every other line keeps its bytes.

    Raises Misconfigured if the file is damaged, the value is not legal or it cannot be written.
    """
    path = home / FILE_NAME
    _validated({**_file(path), "home": home, key: value}, {key: "the arguments"})
    text = path.read_bytes().decode("utf-8") if path.exists() else ""
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    quoted = r"""(?:"[^"\r\n]*"|'[^'\r\n]*')"""
    own = re.compile(rf"^[ \t]*(?:{key}|\"{key}\"|'{key}')[ \t]*=[ \t]*{quoted}", re.MULTILINE)
    changed, count = own.subn(lambda _: line, text, count=1)
    if not count:
        end = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not text or text.endswith("\n") else end
        changed = f"{text}{gap}{line}{end}"
    temporary = path.with_name(f"{FILE_NAME}.tmp")
    try:
        temporary.write_bytes(changed.encode("utf-8"))
        temporary.replace(path)
    except OSError as error:
        raise Misconfigured(f"{FILE_NAME} cannot be written: {error.strerror}") from error


def _model(value: str, names: tuple[str, ...]) -> str:
    """The name as it is written in the list, or a local folder."""
    if value.lower().startswith("folder:") and value[len("folder:") :].strip():
        return f"folder:{value[len('folder:') :].strip()}"
    for name in names:
        if name.lower() == value.lower():
            return name
    raise ValueError(f"use {', '.join(names)} or folder:/path")


def _environment(environ: Mapping[str, str]) -> dict[str, object]:
    """The MEMSVC_* variables that are settings; a near miss of one is an error, others are ignored."""
    known = [f"{_PREFIX}{name.upper()}" for name in Settings.model_fields]
    found: dict[str, object] = {}
    for variable, value in environ.items():
        if not variable.startswith(_PREFIX) or not value.strip():
            continue
        if variable in known:
            found[variable.removeprefix(_PREFIX).lower()] = value
            continue
        near = difflib.get_close_matches(variable, known, n=1, cutoff=_LIKE_A_TYPO)
        if near:
            raise Misconfigured(
                f"the environment variable {variable} is no setting; did you mean {near[0]}?",
                key=variable,
            )
    return found


def _file(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise Misconfigured("the home is not a folder; set MEMSVC_HOME to one") from error
    except OSError as error:
        raise Misconfigured(f"{FILE_NAME} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{FILE_NAME} is not valid TOML: {error}") from error
    legal = [name for name in Settings.model_fields if name != "home"]
    for key in values:
        if key not in legal:
            near = difflib.get_close_matches(key, legal, n=1, cutoff=0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"legal keys: {', '.join(legal)}"
            raise Misconfigured(f"'{key}' in {FILE_NAME} is no setting; {hint}", key=key)
    return values


def _validated(values: Mapping[str, object], origins: Mapping[str, str] | None = None) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0]) if first["loc"] else "settings"
        reason = str(first["msg"]).removeprefix("Value error, ")
        reason = reason[:1].lower() + reason[1:]
        origin = (origins or {}).get(key, FILE_NAME if origins is not None else "the environment")
        raise Misconfigured(
            f"the setting '{key}' in {origin} cannot be used: {reason}", key=key
        ) from error
