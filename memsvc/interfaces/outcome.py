"""The one error shape that every interface carries, and the error that stands for a crash."""

from memsvc.errors import MemsvcError
from memsvc.logs import report_failure
from memsvc.model.replies import Json, as_data

__all__ = ["Internal", "crashed", "error_data"]


class Internal(MemsvcError):
    """Something unexpected; what it was stands in the log, not in the message."""

    code = "internal"


def error_data(error: MemsvcError) -> dict[str, Json]:
    """The error as the JSON that travels as `memsvc/result`."""
    return {
        "error": {"code": error.code, "message": error.message, "data": as_data(error.data)},
    }


def crashed(event: str, error: BaseException, **fields: str | int) -> Internal:
    """Log an unexpected exception and make the error that is shown instead of it."""
    report_failure(event, error, **fields)
    return Internal(
        f"internal error ({type(error).__name__}) while handling this; nothing more is known to "
        "have changed; see the server's log, and run `memsvc doctor`"
    )
