"""The worker beside a server: it rests when there is nothing to do, and goes on after a failure."""

import threading

import pytest

from memsvc.errors import StorageFailed
from memsvc.service import background
from memsvc.service.background import Background

LONG = 60.0


class Work:
    """Work that says how often it was done, and does what it is told to."""

    def __init__(self, answers: list[bool | Exception]) -> None:
        self.done = threading.Semaphore(0)
        self.answers = answers
        self.woken: list[bool] = []
        self.worker = Background(self)

    def __call__(self) -> bool:
        self.woken.append(self.worker._wake.is_set())
        answer = self.answers.pop(0) if self.answers else False
        self.done.release()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait(self, times: int) -> None:
        for _ in range(times):
            assert self.done.acquire(timeout=LONG)


def test_more_work_is_done_at_once_and_no_more_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "IDLE_SECONDS", LONG)
    monkeypatch.setattr(background, "REST_AFTER_ERROR", LONG)
    work = Work([True, True, False])
    work.worker.start()
    work.worker.start()
    work.wait(3)
    assert not work.done.acquire(blocking=False)
    work.worker.poke()
    work.wait(1)
    assert work.woken == [False] * 4
    work.worker.close()
    assert len(work.woken) == 4


@pytest.mark.parametrize("failure", [StorageFailed("full"), RuntimeError("odd")])
def test_a_failure_does_not_end_the_worker(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    monkeypatch.setattr(background, "REST_AFTER_ERROR", 0.01)
    monkeypatch.setattr(background, "IDLE_SECONDS", LONG)
    work = Work([failure, False])
    work.worker.start()
    work.wait(2)
    work.worker.close()
    work.worker.close()
