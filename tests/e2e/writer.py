"""A process that writes notes and says on standard output which were acknowledged.

Usage: python -m tests.e2e.writer HOME NAME COUNT [SHARED_NOTE_ID]
"""

import sys
from pathlib import Path

from memsvc.bootstrap import open_service
from memsvc.errors import StaleVersion
from memsvc.model.requests import CorrectRequest, ForgetRequest, ReadRequest, SaveRequest
from memsvc.model.vocabulary import CorrectMode
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.service.world import agent

CALLER = agent("storm")


def say(*words: object) -> None:
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def add_line(service: MemoryService, note_id: str, line: str) -> None:
    """Append a line to a shared note, again and again until nobody was faster."""
    while True:
        note = service.read(CALLER, ReadRequest(id=note_id))
        request = CorrectRequest(
            id=note_id, version=note.version, mode=CorrectMode.AMEND, body=f"{note.body}{line}\n"
        )
        try:
            service.correct(CALLER, request)
        except StaleVersion:
            continue
        return


def main(home: str, name: str, count: int, shared: str = "") -> None:
    service = open_service(Settings.model_validate({"home": Path(home), "embedder": "none"}))
    service.ensure_ready()
    for number in range(count):
        token = f"{name}x{number}"
        saved = service.save(
            CALLER, SaveRequest(title=f"Note {token}", body=f"The token {token} was written here.")
        )
        say("saved", token, saved.id, saved.path)
        if number % 5 == 1:
            text = f"The token {token} was corrected to {token}new."
            service.correct(
                CALLER,
                CorrectRequest(id=saved.id, version=1, mode=CorrectMode.WRONG, body=text),
            )
            say("corrected", token, saved.id, saved.path)
        if number % 5 == 2:
            service.forget(CALLER, ForgetRequest(id=saved.id))
            say("forgot", token, saved.id, saved.path)
        if shared and number % 5 == 0:
            add_line(service, shared, f"line {token}")
            say("added", token, shared, "-")
    service.close()
    say("end", name, "-", "-")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:5])
