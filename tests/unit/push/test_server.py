"""The client: what each answer means, who we say we are, and what is never said."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import httpx
import pytest
from tests.support.pyroscope import Fake, fake_pyroscope

from pyrometer.collect.probes.selection import probes_of
from pyrometer.core.errors import UsageError
from pyrometer.push.delivery import Patience
from pyrometer.push.options import from_environment, make_server, read_settings
from pyrometer.push.server import Answer, Reply, Server, message, parse_url
from pyrometer.trial.trial import Trial

BODY = message({"__name__": "process_cpu", "service_name": "s"}, b"not a profile", "id")


def server(fake: Fake) -> Server:
    return Server(parse_url(fake.url))


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (429, Answer.NOT_YET), (502, Answer.NOT_YET), (503, Answer.NOT_YET),
        (401, Answer.DENIED), (404, Answer.DENIED), (302, Answer.DENIED),
        (400, Answer.REFUSED), (413, Answer.REFUSED), (422, Answer.REFUSED),
        (500, Answer.UNSURE), (504, Answer.UNSURE), (None, Answer.UNSURE),
    ],
)  # fmt: skip
def test_what_an_answer_means(status: int | None, answer: Answer) -> None:
    with fake_pyroscope() as fake:
        fake.answers = [status]
        reply = server(fake).send(BODY)
        assert reply.answer is answer
        assert (str(status) in reply.detail) == (status is not None)
        assert fake.tries == 1


def test_a_server_that_asks_to_wait() -> None:
    with fake_pyroscope() as fake:
        fake.answers, fake.headers = [429, 503], {"Retry-After": "7"}
        assert server(fake).send(BODY).wait_s == 7
        fake.headers = {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}
        assert server(fake).send(BODY).wait_s is None


def test_nobody_there_and_nobody_who_answers() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = parse_url(f"http://127.0.0.1:{held.getsockname()[1]}")
        assert Server(url).send(BODY).answer is Answer.NOT_YET
        held.listen()
        # The kernel takes the connection and the body, and nobody reads them.
        assert Server(url, answer_s=0.1).send(BODY).answer is Answer.UNSURE


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        # Said in time it is a refusal; cut off by the kernel, nothing was taken: never unsure.
        (b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", (Answer.REFUSED, Answer.NOT_YET)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (Answer.NOT_YET,)),
        (b"", (Answer.NOT_YET,)),
    ],
)
def test_a_server_that_hangs_up_before_the_end(said: bytes, answers: tuple[Answer, ...]) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()

        def hang_up() -> None:
            client, _ = held.accept()
            client.recv(1000)
            client.sendall(said)
            client.shutdown(socket.SHUT_RDWR)
            client.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = parse_url(f"http://127.0.0.1:{held.getsockname()[1]}")
        reply = Server(url).send(BODY + bytes(64 << 20))
        thread.join()
    assert reply.answer in answers


def test_a_certificate_that_is_not_trusted_denies_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
        untrusted.verify_message = "self-signed certificate"
        try:
            raise untrusted
        except ssl.SSLError as error:
            raise httpx.ConnectError(str(error)) from error

    made = Server(parse_url("https://localhost"))
    transport = httpx.MockTransport(fail)
    monkeypatch.setattr(made, "_client", lambda: httpx.Client(transport=transport))
    assert made.send(BODY) == Reply(Answer.DENIED, "certificate: self-signed certificate")


def test_who_we_say_we_are(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("hush-hush\n")
    with fake_pyroscope() as fake:
        for user, expected in ((None, "Bearer hush-hush"), ("me", "Basic bWU6aHVzaC1odXNo")):
            made = make_server(fake.url, "blue", user, token)
            fake.answers = [401]
            reply = made.send(BODY)
            assert "hush" not in repr(made) + reply.detail
            headers = made.headers()
            assert headers["Authorization"] == expected
            assert headers["X-Scope-OrgID"] == "blue"
            assert headers["Content-Type"] == "application/proto"


def test_a_token_repeated_by_the_server_is_struck_out() -> None:
    made = Server(parse_url("https://localhost"), token="hush-hush")
    assert made._error_text(b"no such token: hush-hush") == "no such token: ***"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:4040", "not the address"), ("ftp://h", "not the address"),
        ("http://", "not the address"), ("http://h:x", "Port"),
        ("https://me:hush@h", "name or a password"), ("http://h/?a=b", "only an address"),
    ],
)  # fmt: skip
def test_addresses_that_are_none(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        parse_url(url)
    assert "hush" not in raised.value.message


def test_a_token_does_not_go_over_the_network_in_clear(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("hush-hush")
    for url in ("http://example.org", "http://10.0.0.1:4040"):
        with pytest.raises(UsageError, match="could be read by others"):
            make_server(url, None, None, token)
    for url in ("https://example.org", "http://localhost:1", "http://[::1]:1", "http://127.0.0.2"):
        make_server(url, None, None, token)
    token.write_text("two\nlines")
    with pytest.raises(UsageError, match="token"):
        make_server("https://h", None, None, token)
    token.write_text(" \n")
    with pytest.raises(UsageError, match="empty"):
        make_server("https://h", None, None, token)
    with pytest.raises(UsageError, match="No such file"):
        make_server("https://h", None, None, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="goes with a token"):
        make_server("https://h", None, "me", None)


def test_settings_and_environment() -> None:
    settings = read_settings(["cluster=blue", "service_name=a=b"], "1m", "stage, operator,stage")
    assert settings.labels == {"cluster": "blue", "service_name": "a=b"}
    assert settings.every_ns == 60_000_000_000
    assert settings.by == ("stage", "operator")
    assert read_settings([], by="").by == ()
    made, settings = from_environment(
        "https://h/p/", {"PYROMETER_PUSH_TENANT": "t", "PYROMETER_PUSH_LABELS": "a=b c=d"}
    )
    assert (made.address, made.tenant) == ("https://h/p", "t")
    assert settings.labels == {"a": "b", "c": "d"}


@pytest.mark.parametrize(
    ("labels", "every", "by"),
    [
        (["cluster"], "10s", "stage"), (["=b"], "10s", "stage"), (["a-b=c"], "10s", "stage"),
        (["__name__=c"], "10s", "stage"), (["stage=1"], "10s", "stage"),
        (["run_id=1"], "10s", "stage"), ([], "0s", "stage"), ([], "10", "stage"),
        ([], "61m", "stage"), ([], "10s", "task"),
    ],
)  # fmt: skip
def test_settings_that_are_none(labels: list[str], every: str, by: str) -> None:
    with pytest.raises(UsageError):
        read_settings(labels, every, by)


def test_pauses_double_at_most_and_are_drawn() -> None:
    patience = Patience(first_pause_s=1, longest_pause_s=30)
    for tries, most in ((0, 1), (3, 8), (5, 30), (10_000, 30)):
        drawn = [patience.pause_s(tries, None, denied=False) for _ in range(200)]
        assert 0 <= min(drawn) < most / 3
        assert most * 2 / 3 < max(drawn) <= most
    assert max(patience.pause_s(0, None, denied=True) for _ in range(200)) > 20
    assert patience.pause_s(0, 45, denied=False) >= 45
    assert patience.pause_s(0, 1e9, denied=False) == 300


@pytest.mark.parametrize(
    ("url", "profile", "words"),
    [
        ("localhost:4040", "full", "not the address of a server"),
        ("http://me:hush@h", "full", "a name or a password"),
        ("http://h", "light", "samples no stacks"),
    ],
)
def test_what_run_refuses_before_it_launches_anything(url: str, profile: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        probes_of(Trial(command=("true",), profile=profile, push=url))


def test_a_server_that_cannot_be_reached_does_not_stop_a_run() -> None:
    probe = probes_of(Trial(command=("true",), push="http://127.0.0.1:1"))[-1]
    (problem,) = probe.check()
    assert not problem.fatal
    assert "cannot be reached" in problem.reason
    with fake_pyroscope() as fake:
        assert probes_of(Trial(command=("true",), push=fake.url))[-1].check() == []
