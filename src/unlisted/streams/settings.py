"""A stream's question with the mechanism that was paid for: what its releases depend on besides key and rounds.

Settings are written once, when the stream is created, with every number that a release depends on: a later version
of the program that would calibrate otherwise goes on with the numbers that were paid for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from unlisted.errors import StreamError
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.continual_histogram import ContinualHistogram
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Budget
from unlisted.streams.question import StreamQuestion
from unlisted.tables.count_query import CountQuery

_FORMAT = 2
_FIRST_FORMAT = 1
"""That of version 0.1, whose streams all have the noise of a binary tree."""


@dataclass(frozen=True, kw_only=True)
class Settings(StreamQuestion):
    """A question and the numbers that its budget bought.

    `variance` is that of one draw, `thresholds` those of the mechanism, `recursion` the parameters of correlated
    noise; `known` is the digest of the values that were known before the first round, if there are any.
    """

    variance: Fraction
    thresholds: tuple[int, ...]
    recursion: Recursion | None = None
    at_delta: Fraction
    reason: str
    known: str | None = None

    @classmethod
    def for_budget(cls, budget: Budget, question: StreamQuestion) -> Settings:
        """Calibrate the mechanism, once and for all."""
        kind = _KINDS[question.noise]
        found = kind.for_budget(
            budget,
            question.counted_rounds,
            question.sensitivity,
            display=question.display,
            every=question.release_every,
            rounds_per_unit=question.rounds_per_user or 1,
            windows_per_unit=question.windows_per_user or 1,
        )
        return cls(
            **{one.name: getattr(question, one.name) for one in fields(StreamQuestion)},
            variance=found.mechanism.law.variance,
            thresholds=found.mechanism.thresholds,
            recursion=getattr(found.mechanism, "recursion", None),
            # With ρ, the budget's δ is the thresholds' alone; ε is then reported at twice that.
            at_delta=budget.delta if budget.epsilon is not None else 2 * budget.delta,
            reason=found.reason,
        )

    @property
    def mechanism(self) -> ContinualHistogram:
        """The mechanism that was paid for."""
        return _mechanism(self)

    def noise_key(self, key: NoiseKey, number: int) -> NoiseKey:
        """Return the key of a round's noise: windows that happen to be alike must not have the same noise."""
        return key if self.window is None else NoiseKey(key.secret(f"noise of window {self.window_of(number)}"))

    @cached_property
    def count_query(self) -> CountQuery:
        """What is asked of every round."""
        return self.counted_in_a_round()

    def to_bytes(self) -> bytes:
        """Return the settings as text that a person can read, with a checksum."""
        said = {one.name: _said(getattr(self, one.name)) for one in fields(self)}
        body = {"format": _FORMAT, "stream": said, "sha256": _digest(said)}
        return json.dumps(body, ensure_ascii=False, indent=2).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Settings:
        """Read settings that this version wrote, or the first one."""
        try:
            body = json.loads(data)
            version, said, digest = body["format"], body["stream"], body["sha256"]
        except (ValueError, KeyError, TypeError):
            raise StreamError("The stream's settings are torn. Restore the folder from a copy.") from None
        if version not in (_FIRST_FORMAT, _FORMAT):
            raise StreamError("The stream was created by another version of this program. Open it with that one.")
        if digest != _digest(said):
            raise StreamError("The stream's settings were changed. They are fixed for its life: restore a copy.")
        said |= {"noise": "tree"} if version == _FIRST_FORMAT else {}
        said |= {name: Fraction(said[name]) for name in ("variance", "at_delta")}
        said |= {name: tuple(said[name]) for name in ("item", "thresholds")}
        if said.get("recursion") is not None:
            numbers: dict[str, Any] = said["recursion"]
            numbers |= {name: tuple(numbers[name]) for name in ("decays", "weights")}
            said["recursion"] = Recursion(**numbers)
        return cls(**said)


def _correlated(settings: Settings) -> CorrelatedHistogram:
    assert settings.recursion is not None  # correlated noise has one
    return CorrelatedHistogram(
        WideGaussian(settings.variance),
        settings.recursion,
        settings.thresholds,
        settings.counted_rounds,
        settings.sensitivity,
        settings.display,
        settings.release_every,
        settings.rounds_per_user or 1,
        settings.windows_per_user or 1,
    )


def _tree(settings: Settings) -> RunningHistogram:
    return RunningHistogram(
        DiscreteGaussian(settings.variance),
        settings.thresholds,
        settings.counted_rounds,
        settings.sensitivity,
        settings.display,
        settings.release_every,
        settings.rounds_per_user or 1,
        settings.windows_per_user or 1,
    )


_KINDS: Mapping[str, type[CorrelatedHistogram] | type[RunningHistogram]] = {
    "correlated": CorrelatedHistogram,
    "tree": RunningHistogram,
}
_BUILT: Mapping[str, Callable[[Settings], ContinualHistogram]] = {"correlated": _correlated, "tree": _tree}


@lru_cache(maxsize=16)
def _mechanism(settings: Settings) -> ContinualHistogram:
    """Build a mechanism once for all who open the stream: its table and its price take a while."""
    return _BUILT[settings.noise](settings)


def _said(value: object) -> Any:
    if isinstance(value, Recursion):
        return asdict(value)
    return str(value) if isinstance(value, Fraction) else value


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
