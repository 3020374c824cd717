"""Each profile is sent once: while the run grows, when we are killed, when the server is away."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.growing_run import CHUNK, LENGTH_NS, START_NS, GrowingRun, chunk, growing_run
from tests.support.pyroscope import Fake, fake_pyroscope

from pyrometer.core.errors import UsageError
from pyrometer.push.delivery import Delivery, Patience
from pyrometer.push.follower import Follower, Limits, Names, is_over
from pyrometer.push.options import Settings
from pyrometer.push.sent import Sent
from pyrometer.push.server import Server, parse_url
from pyrometer.store.launcher import this_launcher

FAST = Patience(first_pause_s=0.01, longest_pause_s=0.05, last_s=0.3)
SOON = Limits(look_s=0.01, records_s=0.3, app_s=0.5)
ONE = Settings(every_ns=2_000_000_000)
# Kinds of profile that the recorded chunk makes.
KINDS = 4


class Killed(BaseException):
    """Stands for our death, which no handler of errors sees."""


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    made = growing_run(tmp_path / "run")
    for pid in (4194305, 4194306):
        made.executor(pid)
        made.clock(pid, START_NS + LENGTH_NS + 10**9)
    return made


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_pyroscope() as made:
        yield made


def follower(
    run: GrowingRun, fake: Fake, settings: Settings = ONE, patience: Patience = FAST,
    note: Callable[[str], None] = lambda text: None,
) -> Follower:  # fmt: skip
    account = Sent(run.paths.raw, fake.url, None)
    delivery = Delivery(Server(parse_url(fake.url), answer_s=5), account, patience, note)
    return Follower(run.paths, Names(run.run_id, "w"), delivery, settings, SOON)


def once(run: GrowingRun, fake: Fake, settings: Settings = ONE) -> dict[str, object]:
    made = follower(run, fake, settings)
    made.once()
    made.account.close()
    return made.account.summary()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """What one chunk weighs, by a run and a server of their own."""
    with fake_pyroscope() as fake:
        run = growing_run(tmp_path_factory.mktemp("one") / "run")
        run.grow(4194305, CHUNK)
        once(run, fake)
        return fake.totals()


def times(totals: Counter[str], n: int) -> Counter[str]:
    return Counter({name: n * value for name, value in totals.items()})


def test_several_executors_growing_while_they_are_followed(
    run: GrowingRun, fake: Fake, one: Counter[str]
) -> None:
    made = follower(run, fake)
    over = threading.Event()
    thread = threading.Thread(target=made.follow, args=(over.is_set,))
    thread.start()
    for number in range(3):
        for pid in (4194305, 4194306):
            data = chunk(number)
            run.grow(pid, data[:30_000])
            time.sleep(0.05)
            run.grow(pid, data[30_000:])
    until = time.monotonic() + 20
    while len(fake.taken) < 6 * KINDS and time.monotonic() < until:
        time.sleep(0.02)
    over.set()
    thread.join()
    made.account.close()
    assert fake.totals() == times(one, 6)
    assert fake.totals(executor="4194305") == fake.totals(executor="4194306") == times(one, 3)
    assert len({pushed.uuid for pushed in fake.taken}) == len(fake.taken) == 6 * KINDS
    labels = fake.taken[0].labels
    assert labels["service_name"] == "name of app-1"
    assert (labels["app_id"], labels["run_id"], labels["role"]) == ("app-1", "run-1", "executor")
    # Called again, there is nothing to send.
    summary = once(run, fake)
    assert len(fake.taken) == 6 * KINDS
    assert summary["profiles"] == {"taken": 6 * KINDS, "refused": 0, "unsure": 0}
    assert summary["chunks_count"] == 6


@pytest.mark.parametrize("after", [1, KINDS, KINDS + 2])
def test_killed_after_any_message_nothing_is_sent_twice(
    run: GrowingRun, fake: Fake, one: Counter[str], after: int
) -> None:
    run.grow(4194305, chunk(0) + chunk(1))
    made = follower(run, fake)
    send, count = made.delivery.server.send, 0

    def dies(body: bytes) -> object:
        nonlocal count
        count += 1
        reply = send(body)
        if count == after:
            raise Killed
        return reply

    made.delivery.server.send = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(Killed):
        made.once()
    made.account.close()
    summary = once(run, fake)
    # The message on its way when we died was taken, and we cannot know: it is not sent again.
    assert summary["profiles"] == {"taken": 2 * KINDS - 1, "refused": 0, "unsure": 1}
    assert fake.totals() == times(one, 2)
    assert len({pushed.uuid for pushed in fake.taken}) == len(fake.taken)


def test_a_killed_upload_of_long_periods_goes_on_with_the_same(
    run: GrowingRun, fake: Fake, one: Counter[str]
) -> None:
    run.grow(4194305, b"".join(map(chunk, range(3))))
    made = follower(run, fake, Settings(every_ns=5_000_000_000))
    fake.answers = [200, 503, 503, 503]
    fake.always = 503
    made.once()
    made.account.close()
    assert len(fake.taken) == 1
    fake.always = 200
    summary = once(run, fake, Settings(every_ns=1_000_000_000))
    assert fake.totals() == times(one, 3)
    assert summary["chunks_count"] == 3


def test_a_server_that_is_away_is_waited_for(
    run: GrowingRun, fake: Fake, one: Counter[str]
) -> None:
    notes: list[str] = []
    made = follower(run, fake, note=notes.append)
    fake.always = 503
    run.grow(4194305, chunk(0))
    over = threading.Event()
    thread = threading.Thread(target=made.follow, args=(over.is_set,))
    thread.start()
    until = time.monotonic() + 20
    while fake.tries < 5 and time.monotonic() < until:
        time.sleep(0.01)
    assert fake.taken == []
    run.grow(4194305, chunk(1))
    fake.always = 200
    while len(fake.taken) < 2 * KINDS and time.monotonic() < until:
        time.sleep(0.01)
    over.set()
    thread.join()
    made.account.close()
    assert fake.totals() == times(one, 2)
    assert made.account.retries >= 5
    assert [("takes no profiles" in n, "again" in n) for n in notes] == [
        (True, False),
        (False, True),
    ]


def test_a_server_that_stays_away_ends_us_and_leaves_the_rest(
    run: GrowingRun, fake: Fake, one: Counter[str]
) -> None:
    run.grow(4194305, chunk(0))
    fake.always = 503
    summary = once(run, fake)
    assert summary["left_bytes"] == len(CHUNK)
    assert "503" in str(summary["last_error"])
    fake.always = 200
    assert once(run, fake)["left_bytes"] == 0
    assert fake.totals() == one


def test_told_to_stop_while_the_server_is_away(run: GrowingRun, fake: Fake) -> None:
    run.grow(4194305, chunk(0))
    fake.always = 429
    # A pause that it waited for to its end would outlast the test.
    made = follower(run, fake, patience=Patience(36_000, 36_000, 0.2))
    thread = threading.Thread(target=made.follow, args=(lambda: False,), daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while fake.tries < 1 and time.monotonic() < until:
        time.sleep(0.01)
    made.delivery.stop.set()
    thread.join()
    made.account.close()
    assert fake.tries == 1
    assert made.account.left_bytes == len(CHUNK)


@pytest.mark.parametrize(("status", "fate"), [(400, "refused"), (500, "unsure"), (None, "unsure")])
def test_what_may_not_be_sent_again_is_counted(
    run: GrowingRun, fake: Fake, one: Counter[str], status: int | None, fate: str
) -> None:
    run.grow(4194305, chunk(0))
    fake.answers = [200, status]
    summary = once(run, fake)
    assert summary["profiles"][fate] == 1  # type: ignore[index]
    assert fake.tries == KINDS
    weights = summary["weights"]
    assert isinstance(weights, dict)
    added: Counter[str] = Counter()
    for each in weights.values():
        added.update(each)
    names = {"cpu": "cpu", "wall": "wall", "alloc": "alloc_space", "lock": "delay"}
    assert {names[event]: weight for event, weight in added.items()} == one
    assert once(run, fake)["profiles"] == summary["profiles"]


def test_a_refusal_fails_the_call_that_it_answered_and_no_later_one(
    run: GrowingRun, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    run.grow(4194305, chunk(0))
    fake.answers = [200, 400]
    first = inside(capsys, "push", run.root, "--to", fake.url)
    assert first.code == 3
    assert "1 refused" in first.stderr
    assert f"rm {next(run.paths.raw.glob('push-*.json'))}" in first.stderr
    run.grow(4194305, chunk(1))
    later = inside(capsys, "push", run.root, "--to", fake.url)
    assert later.code == 0, later.stderr
    assert "earlier calls: 1 refused" in later.stdout
    fake.answers = [400]
    run.grow(4194305, chunk(2))
    assert inside(capsys, "push", run.root, "--to", fake.url).code == 3


def test_a_denial_ends_what_is_not_followed(run: GrowingRun, fake: Fake) -> None:
    run.grow(4194305, chunk(0))
    fake.always = 401
    summary = once(run, fake)
    assert fake.tries == 1
    assert summary["left_bytes"] == len(CHUNK)


def test_the_rest_is_sent_with_the_options_that_were_given(
    tmp_path: Path, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    run = growing_run(tmp_path / "my run")
    run.executor(101)
    run.grow(101, chunk(0))
    (tmp_path / "kept").write_text("hush-hush")
    fake.always = 401
    options = ("--tenant", "blue", "--user", "12", "--every", "2s", "--label", "place=a b")
    done = inside(
        capsys, "push", run.root, "--to", fake.url, *options, "--token-file", tmp_path / "kept"
    )
    assert done.code == 3
    wanted = "--tenant blue --user 12 --every 2s --label 'place=a b', with the same --token-file"
    assert f"pyrometer push '{run.root}' --to {fake.url} {wanted}\n" in done.stderr
    assert "hush" not in done.stderr


def test_another_recording_of_the_same_name_begins_anew(run: GrowingRun, fake: Fake) -> None:
    run.grow(4194305, chunk(0))
    once(run, fake)
    run.recording(4194305).write_bytes(chunk(5) + chunk(6))
    once(run, fake)
    assert len(fake.taken) == 3 * KINDS
    run.recording(4194305).write_bytes(b"")
    once(run, fake)
    run.recording(4194305).write_bytes(chunk(5) + chunk(6))
    once(run, fake)
    assert len(fake.taken) == 3 * KINDS


def test_a_chunk_that_cannot_be_read_does_not_end_the_rest(
    run: GrowingRun, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyrometer.push.profiles import profiles as real

    calls = []

    def fails_first(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("unreadable")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("pyrometer.push.follower.profiles", fails_first)
    run.grow(4194305, chunk(0) + chunk(1))
    summary = once(run, fake)
    assert len(fake.taken) == KINDS
    assert summary["unreadable_chunks_count"] == 1
    assert "unreadable" in str(summary["last_error"])


def test_one_process_at_a_time(run: GrowingRun, fake: Fake) -> None:
    made = follower(run, fake)
    with pytest.raises(UsageError, match="another process"):
        follower(run, fake)
    Sent(run.paths.raw, "http://elsewhere", None).close()
    made.account.close()
    follower(run, fake).account.close()


def test_an_account_that_cannot_be_read_stops_us(run: GrowingRun, fake: Fake) -> None:
    run.grow(4194305, chunk(0))
    once(run, fake)
    (path,) = run.paths.push_accounts()
    kept = json.loads(path.read_text())
    for broken in ("", "[]", "{}", json.dumps(kept | {"files": {"a": {"b": 1}}})):
        path.write_text(broken)
        with pytest.raises(UsageError, match="what was sent is not known"):
            follower(run, fake)


def test_tasks_that_are_written_late_are_waited_for(run: GrowingRun, fake: Fake) -> None:
    # Records end before the chunk does, and the process runs: this one.
    pid = os.getpid()
    run.executor(pid)
    run.grow(pid, chunk(0))
    made = follower(run, fake)
    made._round(final=False)
    assert fake.tries == 0
    run.clock(pid, START_NS + LENGTH_NS + 10**9)
    made._round(final=False)
    made.account.close()
    assert fake.tries == KINDS


def test_when_a_run_is_over(run: GrowingRun, tmp_path: Path) -> None:
    assert is_over(run.paths, None)
    assert not is_over(run.paths, this_launcher())
    run.paths.exit.write_text("{}")
    assert is_over(run.paths, this_launcher())
    run.executor(os.getpid())
    assert not is_over(run.paths, None)
    assert is_over(growing_run(tmp_path / "other").paths, None)


def test_told_to_stop_with_much_left_ends_in_time(run: GrowingRun, fake: Fake) -> None:
    run.grow(4194305, b"".join(map(chunk, range(6))))
    fake.delay_s = 0.05
    made = follower(run, fake, patience=Patience(0.01, 0.05, 0.3, stop_s=0.2))
    # Told with the last profile of the first chunk: the others would take a second.
    fake.on_taken = lambda count: count == KINDS and made.delivery.stop.set()
    made.follow(lambda: False)
    made.account.close()
    assert 0 < made.account.left_bytes < 6 * len(CHUNK)
    # The rest may be sent later, and nothing is sent twice.
    fake.delay_s = 0
    sent = len(fake.taken)
    assert once(run, fake)["profiles"] == {"taken": 6 * KINDS, "refused": 0, "unsure": 0}
    assert len({pushed.uuid for pushed in fake.taken}) == 6 * KINDS > sent
