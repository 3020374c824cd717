"""Records of round trips: what is whole is read, by host, and the rest is counted."""

from __future__ import annotations

from pathlib import Path

from pyrometer.store.axis.ping_lines import read_pings

PROCESS = '{"k":"process","role":"executor","host":"east"}\n'


def ping(sent: object, driver: object, received: object) -> str:
    return (
        f'{{"k":"ping","sent_mono_ns":{sent},"driver_mono_ns":{driver},'
        f'"received_mono_ns":{received}}}\n'
    )


def test_files_of_one_host_add_up_and_others_lines_are_passed_over(tmp_path: Path) -> None:
    one, other, third = (tmp_path / name for name in "abc")
    one.write_text(PROCESS + '{"k":"clock","mono_ns":1,"wall_ns":2}\n' + ping(1, 900, 3))
    other.write_text(ping(5, 904, 7) + PROCESS)
    third.write_text(ping(5, 904, 7))
    found = read_pings([one, other, third])
    assert list(found) == ["east"]
    assert found["east"].times == [(1, 900, 3), (5, 904, 7)]
    assert found["east"].unreadable_count == 0


def test_what_is_no_round_trip_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "a"
    wrong = [
        ping(1, 900, "null"),
        ping(1, 9.5, 3),
        ping(1, "true", 3),
        ping(3, 900, 1),
        ping(1, 1 << 63, 3),
        '{"k":"ping"}\n',
        '{"k":"ping",\n',
    ]
    file.write_text(PROCESS + "".join(wrong) + ping(-1, 900, 3) + ping(8, 9, 10).rstrip("}\n"))
    pings = read_pings([file])["east"]
    assert pings.times == [(-1, 900, 3)]
    assert pings.unreadable_count == len(wrong)


def test_bytes_are_no_reason_to_stop(tmp_path: Path) -> None:
    file = tmp_path / "a"
    damaged = [
        b'{"k":"process"\xff}\n',
        b'{"k":"process"}[]\n',
        b'{"k":"ping"' + b"\xff" * 9 + b"\n",
    ]
    file.write_bytes(
        b"".join(damaged) + b"x" * (3 << 20) + b"\n" + (PROCESS + ping(1, 2, 3)).encode()
    )
    pings = read_pings([file])["east"]
    assert pings.times == [(1, 2, 3)]
    assert pings.unreadable_count == 1
