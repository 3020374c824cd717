"""Variables of containers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.kube.kubelet.environment import (
    MissingError,
    expanded,
    field,
    quantity,
    variables,
)

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "n", "labels": {"spark-role": "executor", "a": "1"}},
    "spec": {
        "nodeName": "bed-2",
        "containers": [{"name": "c", "resources": {"limits": {"memory": "1Gi", "cpu": "1500m"}}}],
    },
    "status": {"podIP": "192.0.2.9"},
}


def given_by(env: list[dict[str, Any]], **more: Any) -> dict[str, str]:
    texts = {"configmaps": {"settings": {"x": "1", "y": "2"}}, "secrets": {}}
    container = {**POD["spec"]["containers"][0], "env": env, **more}
    return variables(POD, container, {"GIVEN": "g"}, lambda kind, name: texts[kind].get(name))


def test_what_spark_asks_for_is_given() -> None:
    found = given_by(
        [
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "URL", "value": "http://$(IP)/$(NOBODY)/$$(IP)"},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ]
    )
    assert found == {
        "GIVEN": "g",
        "IP": "192.0.2.9",
        "NAME": "p",
        "NODE": "bed-2",
        "URL": "http://192.0.2.9/$(NOBODY)/$(IP)",
        "CPUS": "2",
    }


def test_a_memory_limit_is_had_in_any_unit() -> None:
    source = {"resource": "limits.memory", "divisor": "1Mi"}
    assert given_by([{"name": "M", "valueFrom": {"resourceFieldRef": source}}])["M"] == "1024"


def test_configuration_is_read_whole_and_by_its_keys() -> None:
    one = {"name": "settings", "key": "y"}
    found = given_by(
        [{"name": "Y", "valueFrom": {"configMapKeyRef": one}}],
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "settings"}}],
    )
    assert found == {"GIVEN": "g", "P_x": "1", "P_y": "2", "Y": "2"}


@pytest.mark.parametrize(
    "reference",
    [
        {"configMapKeyRef": {"name": "settings", "key": "none"}},
        {"configMapKeyRef": {"name": "none", "key": "x"}},
        {"secretKeyRef": {"name": "none", "key": "x"}},
    ],
)
def test_what_is_missing_is_waited_for_unless_it_is_optional(reference: dict[str, Any]) -> None:
    with pytest.raises(MissingError, match="none"):
        given_by([{"name": "A", "valueFrom": reference}])
    (kind,) = reference
    optional = {kind: {**reference[kind], "optional": True}}
    assert "A" not in given_by([{"name": "A", "valueFrom": optional}])


def test_a_field_that_is_none_is_refused() -> None:
    for path in ("", "podIP", "status.", "metadata.name.x", "spec.containers[0]"):
        with pytest.raises(ValueError, match="field"):
            field(POD, path)


def test_labels_are_had_one_by_one_and_all() -> None:
    assert field(POD, "metadata.labels['spark-role']") == "executor"
    assert field(POD, "metadata.labels['none']") == ""
    assert field(POD, "metadata.labels") == 'a="1"\nspark-role="executor"\n'


@given(st.integers(0, 10**9), st.sampled_from(["", "k", "M", "Ki", "Mi", "Gi", "m", "u", "n"]))
def test_a_quantity_is_its_number_times_its_unit(number: int, unit: str) -> None:
    base = quantity(f"1{unit}")
    assert quantity(f"{number}{unit}") == number * base
    assert base == {"k": 10**3, "M": 10**6, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}.get(unit, base)
    assert base * {"m": 10**3, "u": 10**6, "n": 10**9}.get(unit, 1) >= 1


def test_a_quantity_may_have_an_exponent_and_no_other_unit() -> None:
    assert quantity("2e3") == Decimal(2000)
    assert quantity("2E") == Decimal(2) * 10**18
    for text in ("", "1 Mi", "Mi", "1mi", "1.5.2", "-"):
        with pytest.raises((ValueError, ArithmeticError)):
            quantity(text)


@given(st.text())
def test_text_without_references_stays(text: str) -> None:
    assert expanded(text.replace("$", ""), {"A": "1"}) == text.replace("$", "")
