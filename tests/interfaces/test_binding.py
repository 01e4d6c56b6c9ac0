"""Binding: which project a folder is, and who a process speaks for."""

import subprocess
from pathlib import Path

import pytest

from memsvc.errors import Misconfigured
from memsvc.interfaces.binding import auto_project, bind, principal_name
from memsvc.model.vocabulary import PrincipalKind
from memsvc.settings import load_settings


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org",
         "-c", "protocol.file.allow=always", *arguments],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "Heron Service"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def test_a_folder_inside_a_repository_is_the_repositorys_project(repository: Path) -> None:
    inner = repository / "src" / "deep"
    inner.mkdir(parents=True)
    assert auto_project(inner) == auto_project(repository) == "heron-service"


def test_a_linked_worktree_is_the_main_worktrees_project(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "hotfix"))
    assert auto_project(tmp_path / "hotfix") == "heron-service"
    (tmp_path / "plain").mkdir()
    assert auto_project(tmp_path / "plain") == "plain"


def test_a_worktree_of_a_bare_repository_is_named_by_the_repository(
    repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "osprey.git"))
    git(tmp_path / "osprey.git", "worktree", "add", "-q", str(tmp_path / "tree"))
    assert auto_project(tmp_path / "tree") == "osprey"


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    git(library, "commit", "-q", "--allow-empty", "-m", "start")
    git(repository, "submodule", "add", "-q", str(library), "vendored")
    assert auto_project(repository / "vendored") == "vendored"
    assert auto_project(repository) == "heron-service"


def test_the_home_folder_and_the_root_are_shared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    git(tmp_path, "init", "-q")
    (tmp_path / "work").mkdir()
    assert auto_project(tmp_path) == "shared"
    assert auto_project(Path("/")) == "shared"
    assert auto_project(tmp_path / "work") == "work"


def test_broken_git_pointers_fall_back_to_the_folder(tmp_path: Path) -> None:
    for name, content in (
        ("empty", b""),
        ("noise", b"\xff\xfe\x00"),
        ("away", b"gitdir: /nowhere"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / ".git").write_bytes(content)
        assert auto_project(folder) == name


def test_the_settings_and_the_door_decide_who_calls(tmp_path: Path) -> None:
    environ = {"MEMSVC_HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "s1"}
    plain = load_settings(environ)
    agent = bind(plain, door="mcp", environ=environ, folder=tmp_path, client="Claude Code 2!")
    assert str(agent.principal) == "agent:claude-code-2"
    assert (agent.vault, agent.session, agent.door) == ("personal", "s1", "mcp")
    assert str(bind(plain, door="mcp", environ={}, folder=tmp_path).principal) == "agent:mcp"
    assert (
        bind(plain, door="cli", environ={}, folder=tmp_path).principal.kind is PrincipalKind.HUMAN
    )
    named = load_settings(environ, {"principal": "nightly", "session": "own"})
    assert (
        str(bind(named, door="mcp", environ=environ, folder=tmp_path).principal) == "agent:nightly"
    )
    assert (
        str(bind(named, door="cli", environ=environ, folder=tmp_path).principal) == "human:nightly"
    )
    assert bind(named, door="mcp", environ=environ, folder=tmp_path).session == "own"


def test_a_human_in_the_settings_is_whom_an_mcp_client_acts_for(tmp_path: Path) -> None:
    environ = {"MEMSVC_HOME": str(tmp_path), "MEMSVC_PRINCIPAL": "human:alice"}
    settings = load_settings(environ)
    agent = bind(settings, door="mcp", environ=environ, folder=tmp_path, client="codex")
    assert (str(agent.principal), agent.on_behalf_of) == ("agent:codex", "alice")
    person = bind(settings, door="cli", environ=environ, folder=tmp_path)
    assert (str(person.principal), person.on_behalf_of) == ("human:alice", "")
    robot = load_settings({**environ, "MEMSVC_PRINCIPAL": "service:nightly"})
    assert str(bind(robot, door="mcp", environ={}, folder=tmp_path).principal) == "service:nightly"


@pytest.mark.parametrize("name", ["", "*", "..", "a/b", "%", "'; drop"])
def test_no_client_name_makes_an_illegal_principal(name: str) -> None:
    assert principal_name(f"x{name}").startswith("x")
    assert "/" not in principal_name(name)
    assert "*" not in principal_name(name)


@pytest.mark.parametrize("project", ["*", "%", "all", "../x", "A B", "[]"])
def test_a_project_that_is_no_name_is_refused_where_it_is_set(tmp_path: Path, project: str) -> None:
    environ = {"MEMSVC_HOME": str(tmp_path), "MEMSVC_PROJECT": project}
    with pytest.raises(Misconfigured, match="project"):
        bind(load_settings(environ), door="mcp", environ=environ, folder=tmp_path)
    environ["MEMSVC_PROJECT"] = "heron"
    assert bind(load_settings(environ), door="mcp", environ=environ).project == "heron"
