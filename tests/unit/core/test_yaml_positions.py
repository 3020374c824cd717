"""Values of YAML with their places, and what is said of what is wrong."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict

from pyrometer.core.errors import UsageError
from pyrometer.trial.yaml_file import parse, validate


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    scale: str


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    runs: dict[str, Inner]


def test_a_scalar_is_the_text_that_stands_there():
    found = parse(
        "{a: off, b: no, c: 1:30, d: 2017-01-01, e: 1e3, f: true, g: ~, h: 007, i: }", "x"
    )
    assert found.value == {
        "a": "off", "b": "no", "c": "1:30", "d": "2017-01-01", "e": "1e3", "f": "true", "g": None,
        "h": "007", "i": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1, 2\n", "x.yaml:3:1: not YAML"),
        ("a: 1\n a: 2\n", "x.yaml:2:3: not YAML"),
        ("a: 1\nb: 2\na: 3\n", "x.yaml:3:1: 'a' is given twice"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: !!python/object/apply:os.system [ls]\n", "x.yaml:1:4: tags (!!name)"),
        ("a: \x01", "x.yaml: not YAML"),
        ("? [1]\n: 2\n", "x.yaml:1:3: a key must be a word"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, message):
    with pytest.raises(UsageError) as raised:
        parse(text, "x.yaml")
    assert message in raised.value.message


def test_an_unknown_key_has_its_place_and_the_nearest_known_one():
    with pytest.raises(UsageError) as raised:
        validate(Outer, parse("runs:\n  cold:\n    scal: test\n", "x.yaml"))
    assert raised.value.message == "x.yaml:3:5: unknown key 'scal'"
    assert "scale" in str(raised.value.remedy)


def test_a_value_of_another_type_and_a_missing_key_have_their_place():
    with pytest.raises(UsageError, match=r"x\.yaml:1:20: runs\.cold\.scale: .*string"):
        validate(Outer, parse("runs: {cold: {     scale: [1]}}", "x.yaml"))
    with pytest.raises(UsageError, match=r"x\.yaml:1:8: runs\.cold\.scale: Field required"):
        validate(Outer, parse("runs: {cold: {}}", "x.yaml"))


def test_an_empty_document_is_said_to_be_none():
    with pytest.raises(UsageError, match=r"x\.yaml:1:1"):
        validate(Outer, parse("", "x.yaml"))
