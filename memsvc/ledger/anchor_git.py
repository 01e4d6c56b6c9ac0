"""Commits anchors into a git repository that others work in, and touches nothing else of it."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.ledger.anchor import Anchor
from memsvc.ledger.anchor_places import Contents, append, split

__all__ = ["FOLDER", "Commit", "commit", "committed"]

FOLDER = ".memsvc/anchors"
"""Where in the vault's folder the anchors lie: a dot folder, so that they are no notes."""

_SECONDS = 120
_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
# What would point git at another repository, for example when memsvc is run by one of its hooks.
_FOREIGN = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that holds the anchor, and the branch it is on; `made` is False for an older one."""

    id: str
    branch: str
    made: bool


def commit(folder: Path, name: str, anchor: Anchor) -> Commit:
    """Append the anchor to `FOLDER/name` below `folder` and commit that file alone.

    What is staged, changed or untracked besides stays so. The repository's hooks run. Raises
    InvalidInput when there is no git, no repository, no branch or an unfinished merge;
    StorageFailed, with the file and the index as before, when git or a hook refuses.
    """
    git = _Git(folder)
    branch = git.check()
    relative = f"{FOLDER}/{name}"
    path = folder / relative
    _check_inside(folder, path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise StorageFailed(f"{relative} was not written: {error.strerror}") from error
    if not append(path, anchor) and git.is_clean(relative):
        return Commit(git.last_commit(relative), branch, made=False)
    try:
        git.commit_only(relative, f"memsvc: anchor the audit at event {anchor.seq}")
    except StorageFailed:
        git.unstage(relative)
        _put_back(path, before, folder)
        raise
    return Commit(git.last_commit(relative), branch, made=True)


def committed(folder: Path) -> Contents | None:
    """All anchors ever committed on the present branch below `folder`'s `FOLDER`, with those that
    lie there now; None when there are none. A later commit that took one out does not matter.

    Raises InvalidInput as `commit` does.
    """
    git = _Git(folder)
    git.check_repository()
    lines = git.added_lines(FOLDER)
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        lines += path.read_bytes().decode("utf-8", "replace").splitlines()
    return split(lines) if lines else None


class _Git:
    """Runs git in one folder."""

    def __init__(self, folder: Path, *, seconds: float = _SECONDS) -> None:
        self._folder = folder
        self._seconds = seconds

    def check_repository(self) -> None:
        """Raises InvalidInput unless the folder lies in a work tree."""
        if shutil.which("git") is None:
            raise InvalidInput(
                "git is not installed here, or not on the PATH; use --to FILE instead",
                argument="git",
            )
        found = self._run("rev-parse", "--is-inside-work-tree")
        if found.returncode != 0 and "dubious ownership" in found.stderr:
            raise InvalidInput(
                "git does not trust the vault's repository: another user owns it; see git's "
                "safe.directory, or use --to FILE instead",
                argument="git",
            )
        if found.returncode != 0 or found.stdout.strip() != "true":
            raise InvalidInput(
                "the vault's folder is in no git repository; run `git init` there, or use --to FILE",
                argument="git",
            )

    def check(self) -> str:
        """The branch that a commit would go to. Raises InvalidInput when one had better not."""
        self.check_repository()
        branch = self._run("symbolic-ref", "--quiet", "--short", "HEAD")
        if branch.returncode != 0:
            raise InvalidInput(
                "the vault's repository has no branch checked out (detached HEAD), so a commit "
                "would get lost; check one out, or use --to FILE",
                argument="git",
            )
        for marker, what in _UNFINISHED.items():
            place = self._run("rev-parse", "--git-path", marker).stdout.strip()
            if place and (self._folder / place).exists():
                raise InvalidInput(
                    f"{what} is unfinished in the vault's repository; end it first, or use --to FILE",
                    argument="git",
                )
        if self._run("diff", "--name-only", "--diff-filter=U").stdout.strip():
            raise InvalidInput(
                "the vault's repository has conflicts; settle them first, or use --to FILE",
                argument="git",
            )
        return branch.stdout.strip()

    def is_clean(self, relative: str) -> bool:
        """Whether the file is committed as it is."""
        found = self._run(
            "status", "--porcelain", "--ignored", "--untracked-files=all", "--", relative
        )
        return found.returncode == 0 and not found.stdout.strip()

    def last_commit(self, relative: str) -> str:
        """The newest commit that touched the file; empty for none."""
        return self._run("log", "-1", "--format=%H", "--", relative).stdout.strip()

    def commit_only(self, relative: str, message: str) -> None:
        """Commit this file as it lies there, with nothing else. Raises StorageFailed."""
        self._must("add", "--force", "--intent-to-add", "--", relative)
        self._must("commit", "--quiet", "--only", "--message", message, "--", relative)

    def unstage(self, relative: str) -> None:
        """Make the index hold of this file what the last commit does."""
        if self._run("rev-parse", "--quiet", "--verify", "HEAD").returncode == 0:
            self._run("reset", "--quiet", "HEAD", "--", relative)
        else:
            self._run("rm", "--quiet", "--cached", "--force", "--", relative)

    def added_lines(self, relative: str) -> list[str]:
        """Every line that any commit of the present branch added to files below `relative`."""
        found = self._run(
            "log", "--full-history", "--diff-merges=separate", "--patch", "--unified=0", "--reverse",
            "--format=", "--text", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
            "--", relative,
        )  # fmt: skip
        return [line[1:] for line in found.stdout.split("\n") if line.startswith("+{")]

    def _must(self, *arguments: str) -> None:
        done = self._run(*arguments)
        if done.returncode != 0:
            said = " ".join((done.stderr.strip() or done.stdout.strip()).split())[:300]
            raise StorageFailed(
                f"git did not take the anchor and nothing was changed; it says: {said or 'nothing'}"
            )

    def _run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        plain = {name: text for name, text in os.environ.items() if name not in _FOREIGN}
        command = ["git", "--literal-pathspecs", *arguments]
        try:
            process = subprocess.Popen(  # noqa: S603 - a fixed program, arguments are ours
                command,
                cwd=self._folder,
                env={**plain, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise StorageFailed(f"git cannot be run: {error.strerror}") from error
        with process:
            try:
                out, err = process.communicate(timeout=self._seconds)
            except subprocess.TimeoutExpired as error:
                process.terminate()  # lets git take its locks away
                raise StorageFailed(
                    f"git did not end within {self._seconds} s (a hook, or a signature that "
                    "asks?); nothing was anchored there"
                ) from error
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def _check_inside(folder: Path, path: Path) -> None:
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(os.path.realpath(folder)) or path.is_symlink():
        raise InvalidInput(
            f"{FOLDER} leads out of the vault through a link; remove the link", argument="git"
        )


def _put_back(path: Path, before: bytes | None, folder: Path) -> None:
    """Undo what was appended; folders made for it go if they are empty."""
    try:
        if before is not None:
            path.write_bytes(before)
            return
        path.unlink(missing_ok=True)
        for one in (path.parent, path.parent.parent):
            if one != folder and not any(one.iterdir()):
                one.rmdir()
    except OSError as error:
        raise StorageFailed(
            f"git did not take the anchor, and {path.name} could not be put back: {error.strerror}"
        ) from error
