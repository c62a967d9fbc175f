"""Questions to systems that may never answer."""

import asyncio
import threading
from threading import Event

import pytest

from tidemark.pipeline.web.dashboard.question import Question


def test_callers_share_an_answer_and_wait_only_briefly() -> None:
    release, asked = Event(), list[str]()

    def compute() -> str:
        asked.append("once")
        release.wait()
        return "done"

    async def ask() -> None:
        question = Question[str]("test")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await question.ask(compute, 0.01)
        assert (question.answer, question.answered_at) == (None, None)
        assert question.asked_at is not None
        release.set()
        assert await question.ask(compute, 60) == "done"
        assert question.answer == "done"
        assert len(asked) == 1

    asyncio.run(ask())


def test_an_error_is_raised_and_the_last_answer_stays() -> None:
    def fail() -> str:
        raise OSError("no store")

    async def ask() -> None:
        question = Question[str]("test")
        await question.ask(lambda: "first", 60)
        with pytest.raises(OSError, match="no store"):
            await question.ask(fail, 60)
        assert question.answer == "first"
        assert question.asked_at is None
        assert await question.ask(lambda: "second", 60) == "second"

    asyncio.run(ask())


def test_a_caller_in_the_turn_of_the_answer_finds_it_as_the_last_answer() -> None:
    release = Event()

    def compute() -> str:
        release.wait()
        return "done"

    async def ask() -> None:
        question = Question[str]("asked once")

        async def look() -> str | None:
            await question.ask(compute, 60)
            return question.answer

        first = asyncio.create_task(look())
        await asyncio.sleep(0)
        release.set()
        for thread in threading.enumerate():
            if thread.name == "asked once":
                thread.join()  # the answer and the callers below wait for the same turn of the loop
        assert list(await asyncio.gather(first, look(), look())) == ["done"] * 3

    asyncio.run(ask())
