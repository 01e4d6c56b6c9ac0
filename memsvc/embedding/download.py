"""One file over HTTPS: resumed where it broke off, never longer than it should be, hashed before use."""

import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from ssl import SSLError
from typing import IO

from memsvc.embedding.catalogue import HubFile
from memsvc.embedding.profile import digest_of
from memsvc.errors import ModelUnavailable, StorageFailed

__all__ = ["PATIENT", "Report", "Retries", "download"]

_BLOCK = 1 << 18
_AGENT = "memsvc"

Report = Callable[[int], None]
"""Takes how many bytes of the file are there."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a broken connection is taken up again without any new byte, and the first pause,
    which doubles each time; and after how many silent seconds a connection counts as broken.
    """

    most: int = 4
    pause: float = 1.0
    silence: float = 30.0


PATIENT = Retries()


class _Broken(Exception):
    """The connection broke; what came so far is kept."""


class _Unreachable(_Broken):
    """There was no connection at all."""


class _Mismatch(Exception):
    """What is on disk is not the file."""


def download(
    url: str, file: HubFile, target: Path, *, report: Report, retries: Retries = PATIENT
) -> None:
    """Fetch `file` from `url` to `target`, by way of `target` with `.part`, which a later call resumes.

    `target` exists only with the right size and hash. Raises ModelUnavailable, StorageFailed.
    """
    part = target.with_name(f"{target.name}.part")
    fresh = not part.exists()
    try:
        _complete(url, file, part, report=report, retries=retries)
        try:
            _check(file, part)
        except _Mismatch:
            if fresh:
                raise
            # Perhaps the beginning, from an earlier call, was of another file: once from the start.
            _complete(url, file, part, report=report, retries=retries)
            _check(file, part)
        part.replace(target)
    except _Mismatch as error:
        raise ModelUnavailable(
            f"{file.source} is not the file that is pinned: {error}; nothing was installed", url=url
        ) from error
    except OSError as error:
        raise StorageFailed(
            f"the model cannot be written to the home: {error.strerror or error}"
        ) from error


def _complete(url: str, file: HubFile, part: Path, *, report: Report, retries: Retries) -> None:
    """Bring the part to its full size, over as many connections as it takes."""
    failures = 0
    begun = _size(part)
    while (had := _size(part)) < file.size:
        report(had)
        try:
            _transfer(url, file, part, report=report, silence=retries.silence)
        except _Broken as error:
            failures = 0 if _size(part) > had else failures + 1
            if isinstance(error, _Unreachable) and _size(part) == begun:
                raise ModelUnavailable(
                    f"{urllib.parse.urlsplit(url).netloc} cannot be reached ({error}); name a mirror "
                    "or a folder with --from",
                    url=url,
                ) from error
            if failures > retries.most:
                raise ModelUnavailable(
                    f"the download of {file.source} broke off ({error}) with {_size(part)} of "
                    f"{file.size} bytes, which are kept; run the command again to go on",
                    url=url,
                ) from error
            time.sleep(retries.pause * 2**failures)
    report(file.size)


def _check(file: HubFile, part: Path) -> None:
    """Raises _Mismatch, and removes the part, unless it is the file."""
    size, digest = _size(part), digest_of(part)
    if size == file.size and digest == file.sha256:
        return
    part.unlink()
    raise _Mismatch(
        f"{size} bytes with sha256 {digest}, expected {file.size} bytes with {file.sha256}"
    )


def _transfer(url: str, file: HubFile, part: Path, *, report: Report, silence: float) -> None:
    """One connection: appends what comes, until the file is whole. Raises _Broken."""
    had = _size(part)
    headers = {"User-Agent": _AGENT, "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http or https, see fetch
    if had:
        request.add_header("Range", f"bytes={had}-")
    try:
        with _opener().open(request, timeout=silence) as response:
            resumed = response.status == 206 and _starts_at(response, had)
            _expect(response, file, rest=file.size - had if resumed else file.size, url=url)
            with part.open("ab" if resumed else "wb") as out:
                _copy(response, out, file, report=report)
    except urllib.error.HTTPError as error:
        with error:
            _give_up_or_retry(error, file, part, url=url)
    except urllib.error.URLError as error:
        raise _Unreachable(str(error.reason)) from error
    except (HTTPException, ConnectionError, TimeoutError, SSLError) as error:
        raise _Broken(type(error).__name__) from error


def _copy(response: HTTPResponse, out: IO[bytes], file: HubFile, *, report: Report) -> None:
    there = out.tell()
    while block := response.read(_BLOCK):
        there += len(block)
        if there > file.size:
            raise ModelUnavailable(f"{file.source} is longer than the {file.size} bytes pinned")
        out.write(block)
        report(there)
    if there < file.size:
        raise _Broken("the connection was closed early")


def _expect(response: HTTPResponse, file: HubFile, *, rest: int, url: str) -> None:
    """Raises ModelUnavailable if the server announces another length than that of the pinned file."""
    announced = response.headers.get("Content-Length", "")
    if announced.isdigit() and int(announced) != rest:
        raise ModelUnavailable(
            f"{file.source} is not the file that is pinned: the server offers {announced} bytes "
            f"where {rest} are expected; nothing was installed",
            url=url,
        )


def _starts_at(response: HTTPResponse, offset: int) -> bool:
    return response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")


def _give_up_or_retry(
    error: urllib.error.HTTPError, file: HubFile, part: Path, *, url: str
) -> None:
    if error.code == 416:  # the part is longer than what the server has
        part.unlink(missing_ok=True)
        raise _Broken("the server has no more than what is there") from error
    if error.code == 429 or error.code >= 500:
        raise _Broken(f"HTTP {error.code}") from error
    raise ModelUnavailable(
        f"{urllib.parse.urlsplit(url).netloc} does not give out {file.source} (HTTP {error.code}); "
        "name a mirror or a folder with --from",
        url=url,
    ) from error


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect, but never from HTTPS to something less."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise ModelUnavailable("the server sends the download to an address without HTTPS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_SecureRedirects())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
