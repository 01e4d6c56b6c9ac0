"""Anchors in git: one file is committed, nothing else is touched, and a refusal leaves no trace."""

import os
import subprocess
from pathlib import Path

import pytest

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.ledger import anchor_git
from memsvc.ledger.anchor import Anchor, SigningKey
from memsvc.ledger.chain import Verdict

NAME = "home.jsonl"
FILE = f"{anchor_git.FOLDER}/{NAME}"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def made(seq: int) -> Anchor:
    verdict = Verdict(seq, f"{seq:064x}", (), identity="a" * 64)
    return SigningKey(b"k" * 32).anchor(verdict, at="2026-11-30T10:04:11.000000Z")


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault in a folder of a repository with one commit."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = tmp_path / "repository"
    folder = repository / "notes"
    folder.mkdir(parents=True)
    git(repository, "init", "-q", "-b", "main")
    git(repository, "config", "user.name", "t")
    git(repository, "config", "user.email", "t@example.org")
    (folder / "one.md").write_text("one\n", "utf-8")
    (repository / "two.txt").write_text("two\n", "utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    return folder


def state(vault: Path) -> tuple[str, str, str, list[str]]:
    """Everything that a refused anchor must leave as it was."""
    files = sorted(str(path.relative_to(vault.parent)) for path in vault.parent.rglob("*")
                   if ".git" not in path.parts)  # fmt: skip
    return (
        git(vault, "log", "--all", "--format=%H"),
        git(vault, "diff", "--cached"),
        git(vault, "status", "--porcelain", "--ignored", "--untracked-files=all"),
        files,
    )


def hook(vault: Path, name: str, script: str) -> None:
    path = vault.parent / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)


def test_only_the_anchor_is_committed_and_the_index_keeps_the_rest(vault: Path) -> None:
    (vault / "one.md").write_text("one, staged\n", "utf-8")
    (vault / "new.md").write_text("new, staged\n", "utf-8")
    git(vault, "add", ".")
    (vault / "one.md").write_text("one, changed again\n", "utf-8")
    (vault / "untracked.md").write_text("untracked\n", "utf-8")
    before = state(vault)
    first = anchor_git.commit(vault, NAME, made(4))
    second = anchor_git.commit(vault, NAME, made(5))
    assert (first.made, second.made, second.branch) == (True, True, "main")
    for one in (first, second):
        changed = git(vault, "show", "--format=", "--name-only", one.id).splitlines()
        assert changed == [f"notes/{FILE}"]
    after = state(vault)
    assert after[1:3] == before[1:3]
    assert git(vault, "show", f"HEAD:notes/{FILE}").splitlines() == [made(4).line(), made(5).line()]
    found = anchor_git.committed(vault)
    assert found is not None
    assert (found.anchors, found.problems) == ((made(4), made(5)), ())


def test_the_same_anchor_is_not_committed_twice(vault: Path) -> None:
    first = anchor_git.commit(vault, NAME, made(4))
    again = anchor_git.commit(vault, NAME, made(4))
    assert again == anchor_git.Commit(first.id, "main", made=False)
    (vault / FILE).unlink()
    back = anchor_git.commit(vault, NAME, made(5))
    assert back.made
    assert anchor_git.committed(vault) is not None


def test_an_anchor_that_lies_there_uncommitted_is_committed(vault: Path) -> None:
    (vault / FILE).parent.mkdir(parents=True)
    (vault / FILE).write_text(made(4).line() + "\n", "utf-8")
    assert anchor_git.commit(vault, NAME, made(4)).made
    assert git(vault, "status", "--porcelain") == ""


def test_a_new_repository_and_an_ignored_folder_take_it(vault: Path, tmp_path: Path) -> None:
    (vault.parent / ".gitignore").write_text(".*\n", "utf-8")
    assert anchor_git.commit(vault, NAME, made(4)).made
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "main")
    git(fresh, "config", "user.name", "t")
    git(fresh, "config", "user.email", "t@example.org")
    assert anchor_git.commit(fresh, NAME, made(4)).made
    assert git(fresh, "ls-files") == FILE


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "prepare-commit-msg"])
@pytest.mark.parametrize("there", ["first", "second"])
def test_a_hook_that_refuses_is_told_and_leaves_nothing(vault: Path, name: str, there: str) -> None:
    if there == "second":
        anchor_git.commit(vault, NAME, made(3))
    (vault / "staged.md").write_text("staged\n", "utf-8")
    git(vault, "add", ".")
    hook(vault, name, "echo 'not on a Friday' >&2; exit 1")
    before = state(vault)
    with pytest.raises(StorageFailed, match="not on a Friday"):
        anchor_git.commit(vault, NAME, made(4))
    assert state(vault) == before
    hook(vault, name, "exit 0")
    assert anchor_git.commit(vault, NAME, made(4)).made


def test_a_refusal_in_a_new_repository_leaves_nothing(vault: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "main")
    git(fresh, "config", "user.useConfigOnly", "true")
    with pytest.raises(StorageFailed, match="git did not take"):
        anchor_git.commit(fresh, NAME, made(4))
    assert git(fresh, "ls-files") == ""
    assert [path.name for path in fresh.iterdir()] == [".git"]


def test_a_lock_that_another_git_holds_is_told(vault: Path) -> None:
    lock = vault.parent / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(StorageFailed, match=r"index\.lock"):
        anchor_git.commit(vault, NAME, made(4))
    lock.unlink()
    assert git(vault, "status", "--porcelain") == ""
    assert anchor_git.commit(vault, NAME, made(4)).made


def test_no_branch_and_unfinished_work_are_refused(vault: Path) -> None:
    git(vault, "branch", "other")
    (vault / "one.md").write_text("ours\n", "utf-8")
    git(vault, "commit", "-qam", "ours")
    git(vault, "checkout", "-q", "other")
    (vault / "one.md").write_text("theirs\n", "utf-8")
    git(vault, "commit", "-qam", "theirs")
    unfinished = {
        "a merge": ["merge", "main"],
        "a cherry-pick": ["cherry-pick", "main"],
        "a rebase|detached": ["rebase", "main"],
    }
    for words, arguments in unfinished.items():
        subprocess.run(["git", *arguments], cwd=vault, check=False, capture_output=True)
        before = state(vault)
        with pytest.raises(InvalidInput, match=words):
            anchor_git.commit(vault, NAME, made(4))
        assert state(vault) == before
        git(vault, arguments[0], "--abort")
    git(vault, "checkout", "-q", "--detach")
    with pytest.raises(InvalidInput, match="no branch"):
        anchor_git.commit(vault, NAME, made(4))
    git(vault, "checkout", "-q", "main")
    assert anchor_git.commit(vault, NAME, made(4)).made


def test_no_git_and_no_repository_are_told(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(InvalidInput, match="in no git repository"):
        anchor_git.commit(plain, NAME, made(4))
    with pytest.raises(InvalidInput, match="in no git repository"):
        anchor_git.commit(vault.parent / ".git", NAME, made(4))
    assert list(plain.iterdir()) == []
    monkeypatch.setenv("PATH", str(plain))
    with pytest.raises(InvalidInput, match="git is not installed"):
        anchor_git.commit(vault, NAME, made(4))


def test_a_link_that_leads_out_of_the_vault_is_not_followed(vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (vault / ".memsvc").symlink_to(outside)
    with pytest.raises(InvalidInput, match="leads out"):
        anchor_git.commit(vault, NAME, made(4))
    assert list(outside.iterdir()) == []


def test_the_repository_is_the_vaults_also_when_a_hook_of_another_one_calls(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    done = anchor_git.commit(vault, NAME, made(4))
    for name in ("GIT_DIR", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name)
    assert git(vault, "rev-parse", "HEAD") == done.id
    assert os.listdir(other) == [".git"]  # noqa: PTH208 - names are enough


def test_lines_that_later_commits_changed_or_merged_in_are_all_read(vault: Path) -> None:
    anchor_git.commit(vault, NAME, made(3))
    git(vault, "checkout", "-q", "-b", "side")
    anchor_git.commit(vault, "theirs.jsonl", made(7))
    git(vault, "checkout", "-q", "main")
    anchor_git.commit(vault, NAME, made(4))
    git(vault, "merge", "-q", "--no-commit", "side")
    with (vault / FILE).open("a") as stream:
        stream.write(made(5).line() + "\n")
    git(vault, "add", ".")
    git(vault, "commit", "-qm", "merged, with a line of its own")
    (vault / FILE).write_text(made(4).line() + "\nspoilt\n", "utf-8")
    git(vault, "commit", "-qam", "rewritten")
    git(vault, "rm", "-q", f"{anchor_git.FOLDER}/theirs.jsonl")
    git(vault, "commit", "-qm", "removed")
    found = anchor_git.committed(vault)
    assert found is not None
    assert {one.seq for one in found.anchors} == {3, 4, 5, 7}
    assert len(found.problems) == 1
