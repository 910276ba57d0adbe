"""Every mutant, in the order of the table in the docs, and which auditor catches it."""

from __future__ import annotations

from dataclasses import dataclass

from unlisted.audit.black_box import black_box
from unlisted.audit.exact import exact_audit
from unlisted.audit.lemma import Verdict
from unlisted.audit.mutants import (
    answers,
    find_then_count,
    labels,
    numerics,
    prices,
    questions,
    streams,
    thresholds,
    totals,
    users,
)
from unlisted.audit.mutants.mutant import Mutant
from unlisted.audit.subject import OpenBits
from unlisted.noise.bits import fresh_bits

MUTANTS = (
    thresholds.at_least_for_above,
    thresholds.at_least_for_above_rarely,
    thresholds.laplace_threshold_under_gaussian,
    thresholds.whole_delta_for_each_label,
    thresholds.cut_off_ignored,
    thresholds.truncated_one_later,
    thresholds.zeros_listed,
    labels.every_item_in_full,
    labels.lone_label_of_one,
    labels.whole_delta_for_each_round,
    labels.given_back_to_each,
    labels.hint_without_noise,
    labels.steered_by_others_labels,
    find_then_count.weights_rounded_up,
    find_then_count.in_full_by_true_sizes,
    find_then_count.two_groups_paid_once,
    prices.continuous_constant,
    prices.analytic_gaussian,
    prices.classical_gaussian,
    prices.largest_change_ignored,
    prices.groups_paid_once,
    prices.delta_spent_twice,
    prices.order_missing,
    prices.wrong_norm,
    prices.order_missing_in_rankings,
    prices.replaced_at_the_price_of_added,
    prices.one_price_for_all_draws,
    prices.permute_and_flip,
    prices.scores_released,
    thresholds.ties_by_row_order,
    thresholds.bottom_without_noise,
    questions.free_bottom,
    questions.refunded_delta,
    questions.delta_charged_once,
    streams.redrawn_noise,
    streams.past_without_noise,
    streams.tested_when_it_comes,
    streams.threshold_for_one_round,
    streams.sensitivity_by_logarithm,
    streams.counted_again,
    streams.items_without_a_bound,
    streams.windows_with_one_noise,
    streams.windows_paid_once,
    streams.known_by_counting,
    answers.sorted_by_true_count,
    answers.hidden_labels_counted,
    answers.nothing_said_of_nothing,
    answers.true_minimum,
    answers.one_draw_for_all,
    users.unbounded,
    users.clipped_after_counting,
    users.most_common_kept,
    users.several_names,
    totals.distinct_moved_by_one,
    totals.other_from_true_counts,
    totals.other_values_moved_by_one,
    totals.totals_not_paid,
    totals.threshold_on_money,
    totals.sum_bounded_by_row,
    numerics.floats,
    numerics.cut_tail,
    numerics.repeatable,
    numerics.rounded_away,
)


def all_mutants(bits: OpenBits = fresh_bits) -> list[Mutant]:
    """Build them all."""
    return [mutant(bits) for mutant in MUTANTS]


COLUMNS = ("mutant", "what is wrong", "exact law", "runs")


@dataclass(frozen=True)
class Caught:
    """Who caught a mutant; `exact` is None where no law was written down."""

    name: str
    wrong: str
    exact: bool | None
    ran: bool

    @property
    def by_anyone(self) -> bool:
        """Whether at least one auditor saw it."""
        return bool(self.exact) or self.ran

    def as_row(self) -> tuple[str, ...]:
        """Return a line of the table."""
        exact = "" if self.exact is None else _seen(self.exact)
        return self.name, self.wrong, exact, _seen(self.ran)


def catch(mutant: Mutant) -> Caught:
    """Set both auditors on a mutant."""
    subject = mutant.subject
    exact = None if subject.law is None else exact_audit(subject).verdict is Verdict.violated
    ran = black_box(subject, trials=mutant.trials).against is not None
    return Caught(subject.name, mutant.wrong, exact, ran)


def _seen(caught: bool) -> str:
    return "caught" if caught else "not seen"
