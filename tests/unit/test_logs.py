"""Logs: standard error only, one line an event, and no text of an exception below debug."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from memsvc.logs import configure_logs, logger, report_failure


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("memsvc")
    before = (list(root.handlers), root.level, own.level)
    yield
    root.handlers[:], level, own_level = before
    root.setLevel(level)
    own.setLevel(own_level)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return [json.loads(line) for line in captured.err.splitlines()]


def test_an_event_is_one_json_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="info", form="json")
    logger("memsvc.x").info("index_ready", notes=3)
    logger("memsvc.x").debug("too_low")
    structlog.get_logger("memsvc.y").warning("made_elsewhere")
    first, second = lines(capsys)
    assert (first["event"], first["notes"], first["level"]) == ("index_ready", 3, "info")
    assert (second["event"], second["logger"]) == ("made_elsewhere", "memsvc.y")


def test_libraries_are_heard_from_warning_on(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(level="debug", form="json")
    logging.getLogger("library").info("chatter")
    logging.getLogger("library").warning("mind this")
    assert [line["event"] for line in lines(capsys)] == ["mind this"]


def test_a_failure_shows_its_type_and_its_text_only_at_debug(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = RuntimeError("the note says xyzzy")
    configure_logs(level="warning", form="json")
    report_failure("call_crashed", error, tool="save")
    (line,) = [one for one in lines(capsys) if one["event"] == "call_crashed"]
    assert (line["event"], line["error"], line["tool"]) == ("call_crashed", "RuntimeError", "save")
    assert "xyzzy" not in str(line)
    configure_logs(level="debug", form="json")
    report_failure("call_crashed", error)
    assert "xyzzy" in str(lines(capsys))


def test_the_console_form_is_readable_and_without_colour_off_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(form="console")
    logger("memsvc.x").warning("index_slow", seconds=3)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "index_slow" in captured.err
    assert "\x1b" not in captured.err
