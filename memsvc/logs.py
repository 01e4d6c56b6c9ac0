"""Logs to standard error: constant event names with fields, never the text of a note or a query."""

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger
    from structlog.typing import Processor

__all__ = ["configure_logs", "logger", "report_failure"]

_OWN = "memsvc"


def logger(name: str) -> "BoundLogger":
    """The logger of a module (`__name__`); the first argument of its methods is the event's name."""
    import structlog  # costs a tenth of a second, which commands that log nothing need not pay

    bound: BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=_before_the_handler(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return bound


def configure_logs(*, level: str = "warning", form: str = "auto") -> None:
    """Send our events from `level` (debug, info, warning, error) up, and warnings of libraries, to
    standard error; `form` is json, console, or auto for console on a terminal.

    Every record goes through one handler of the root logger, so nothing reaches standard output.
    """
    import structlog  # see logger()

    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    last: Processor = (
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        if console
        else structlog.processors.JSONRenderer(sort_keys=True, ensure_ascii=False)
    )
    tail: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if not console:
        tail.append(structlog.processors.format_exc_info)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_shared(), processors=[*tail, last])
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(_OWN).setLevel(level.upper())
    structlog.configure(  # for loggers that were not made here: unconfigured ones print to stdout
        processors=_before_the_handler(),
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _before_the_handler() -> "list[Processor]":
    import structlog  # see logger()

    return [
        structlog.stdlib.filter_by_level,
        *_shared(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ]


def _shared() -> "list[Processor]":
    import structlog  # see logger()

    return [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def report_failure(event: str, error: BaseException, **fields: str | int) -> None:
    """Log an unexpected exception by type; its message and traceback only at debug level, since
    they may hold what was being stored.
    """
    own = logger(_OWN)
    own.error(event, error=type(error).__name__, **fields)
    own.debug(f"{event}_traceback", exc_info=error, **fields)
