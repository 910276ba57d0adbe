"""Every mistake, in the order of the table in the docs."""

from __future__ import annotations

from unlisted.audit.broken import (
    answers,
    counts,
    labels,
    numerics,
    prices,
    questions,
    streams,
    thresholds,
    tops,
    users,
)
from unlisted.audit.broken.mistake import Mistake, OpenBits
from unlisted.noise.bits import fresh_bits

MISTAKES = (
    thresholds.at_least_for_above,
    thresholds.at_least_for_above_rarely,
    thresholds.laplace_threshold_under_gaussian,
    thresholds.whole_delta_for_each_label,
    thresholds.cut_off_ignored,
    thresholds.zeros_listed,
    labels.every_item_in_full,
    labels.lone_label_of_one,
    labels.whole_delta_for_each_round,
    labels.given_back_to_each,
    labels.hint_without_noise,
    labels.steered_by_others_labels,
    counts.weights_rounded_up,
    counts.in_full_by_true_sizes,
    counts.two_groups_paid_once,
    prices.continuous_constant,
    prices.analytic_gaussian,
    prices.classical_gaussian,
    prices.largest_change_ignored,
    prices.delta_spent_twice,
    prices.order_missing,
    prices.wrong_norm,
    prices.order_missing_in_rankings,
    prices.replaced_at_the_price_of_added,
    prices.one_price_for_all_draws,
    prices.permute_and_flip,
    prices.scores_released,
    tops.ties_by_row_order,
    tops.bottom_without_noise,
    questions.free_bottom,
    questions.refunded_delta,
    questions.delta_charged_once,
    streams.redrawn_noise,
    streams.past_without_noise,
    streams.tested_when_it_comes,
    streams.threshold_for_one_round,
    streams.sensitivity_by_logarithm,
    answers.sorted_by_true_count,
    answers.hidden_labels_counted,
    answers.nothing_said_of_nothing,
    answers.true_minimum,
    answers.one_draw_for_all,
    users.unbounded,
    users.clipped_after_counting,
    users.most_common_kept,
    users.several_names,
    numerics.floats,
    numerics.cut_tail,
    numerics.repeatable,
    numerics.rounded_away,
)


def broken_mechanisms(bits: OpenBits = fresh_bits) -> list[Mistake]:
    """Build them all."""
    return [mistake(bits) for mistake in MISTAKES]
