"""Expert rules: what findings and best practice say, tried one after the other, no search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyrometer.tune.advise.candidates import feasible_part, first_levels
from pyrometer.tune.advise.history import fitting
from pyrometer.tune.advise.simple import Simple
from pyrometer.tune.space.cube import key, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space


class Rules(Simple):
    """Remedies of findings, all first guesses together, and each alone on top of the best."""

    def __init__(self, space: Space, *, ideas: Sequence[Configuration] = ()) -> None:
        """Make one.

        Parameters
        ----------
        ideas : sequence of mapping
            Remedies of findings, the most promising in front.
        """
        super().__init__(space)
        self._ideas: list[Configuration] = []
        self.hint(ideas)

    def hint(self, ideas: Sequence[Configuration], expected: Iterable[str] = ()) -> None:
        """Take remedies of findings, to try first; levels that the space lacks are left out."""
        for one in ideas:
            if known := fitting(self.space, one):
                self._ideas.append(known)

    def propose(self) -> tuple[Mapping[str, str], str] | None:
        """Give the next one that was not tried; at the end what could not be launched before."""
        for known in (self.history.asked(), self.history.known()):
            for one, why in self._rules():
                if key(one) not in known | {""} and infeasible(self.space, one) is None:
                    return one, why
        return None

    def _rules(self) -> Iterator[tuple[dict[str, str], str]]:
        for idea in self._ideas:
            yield feasible_part(self.space, idea), "a finding's remedy"
        first = first_levels(self.space, [one.factor for one in self.space.knobs])
        yield feasible_part(self.space, first), "best practice"
        best = self.lowest() or {}
        for factor, level in first.items():
            yield plain(self.space, {**best, factor: level}), f"best practice: {factor}"
        for one in self.space.knobs:
            for level in one.first[1:]:
                yield plain(self.space, {**best, one.factor: level}), "best practice, second"
