"""Models that are made ready when first used, or at once with all that they are made of."""

from __future__ import annotations

from pydantic import Field

from pyrometer.core.model import Model, make_ready


class Leaf(Model):
    weight: int = 0


class Node(Model):
    name: str = ""
    leaves: dict[str, list[Leaf] | None] = Field(default_factory=dict)
    below: list[Node] = Field(default_factory=list)


class Tree(Model):
    root: Node


def test_a_model_is_made_ready_with_its_parts_also_where_one_is_part_of_itself() -> None:
    assert not Tree.__pydantic_complete__
    make_ready(Tree)
    assert all(model.__pydantic_complete__ for model in (Tree, Node, Leaf))
    tree = Tree(root=Node(name="a", leaves={"x": [Leaf(weight=3)]}, below=[Node(name="b")]))
    assert Tree.model_validate_json(tree.model_dump_json()) == tree
