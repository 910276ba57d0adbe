"""Pay-what-you-get promises what its filter compares, and nothing that stood beside the total."""

from __future__ import annotations

from fractions import Fraction

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.privacy.sensitivity import Sensitivity


def test_an_epsilon_beside_the_total_is_not_promised() -> None:
    """Many small draws fit into the ρ of a large one, though their ε add up to more than its ε."""
    sensitivity = Sensitivity(items=1)
    large = TopK.at(Ranking(1, 10, sensitivity), epsilon=1, delta="1e-6")
    small = TopK.at(Ranking(1, 10, sensitivity), epsilon="0.1", delta="1e-9")
    total = large.guarantee()
    budget = PayWhatYouGet(total)
    counts = BoundedCounts.from_dict({"soup": 1000}, sensitivity)
    for _ in range(50):
        budget.release(small, counts)
    spent = 50 * small.guarantee()
    assert total.direct is not None
    assert spent.direct is not None
    assert spent.direct.epsilon > total.direct.epsilon == 1
    assert budget.guarantee().direct is None
    assert budget.guarantee().rho == Fraction(1, 8)
    assert budget.guarantee().delta == total.delta
