"""unlisted: private counts when nobody has the list.

A release is bounded counts, exact noise, and a price whose ceiling is reserved before the noise is drawn.

    errors         every refusal a caller can meet
    privacy/       what is promised: guarantees, conversions, calibration
    noise/         exact integer laws, and the one door for randomness
    mechanisms/    one idea a file, its proof beside it
    tables/        rows -> bounded counts, inside the engine
    accuracy       how good an answer will be, before any data is touched
    intervals      error bars that stay honest after selection
    bills          between a plan and whoever pays for it
    releases       the answer and its receipt
    release_bytes  a release as a ledger keeps it
    formats        an answer as JSON, CSV or Parquet
    explaining     a mechanism in words and numbers
    rehearsals     what was answered from no rows, before anything was charged
    plans          a question with a mechanism chosen and calibrated
    planning       from a question to a plan
    label_planning the same where labels are weighed
    asking         what may be asked of a table
    given_counts   the same of counts that another system made
    client         the same questions, asked of a service
    ledger/        the durable budget: accounts, immutable entries, balance as a fold
    streams/       a running histogram that survives anything
    audit/         does it keep its promise? the lemma executed, and attacks
    charts         Altair
    demo/          a table of invented people
    server/        many analysts over HTTP, one shared budget
    cli/           one verb a file
"""

import importlib
import typing

from unlisted.asking import PrivateTable, table
from unlisted.errors import (
    AccessError,
    BudgetRefusedError,
    CannotAnswerError,
    ChargedFailureError,
    InvalidArgumentError,
    InvalidCountsError,
    LedgerError,
    StreamError,
    UnlistedError,
)
from unlisted.given_counts import PrivateCounts, counts
from unlisted.ledger import extra as ledger_extra
from unlisted.ledger.terms import ResultsBudget
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.running_histogram import RunningHistogram
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.law import Law
from unlisted.plans import Plan
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.releases import Release

if typing.TYPE_CHECKING:
    from unlisted.client import connect
    from unlisted.ledger.ledger import Ledger
    from unlisted.streams.stream import Stream

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "BoundedCounts",
    "Budget",
    "BudgetRefusedError",
    "CannotAnswerError",
    "ChargedFailureError",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EpsilonDelta",
    "Guarantee",
    "InvalidArgumentError",
    "InvalidCountsError",
    "Law",
    "Ledger",
    "LedgerError",
    "PayWhatYouGet",
    "Plan",
    "PrivateCounts",
    "PrivateTable",
    "Ranking",
    "Release",
    "ResultsBudget",
    "RunningHistogram",
    "Sensitivity",
    "Stream",
    "StreamError",
    "ThresholdHistogram",
    "TopHistogram",
    "TopK",
    "UnlistedError",
    "connect",
    "counts",
    "table",
]


_LATER: dict[str, typing.Callable[[], typing.Any]] = {
    "Ledger": ledger_extra.ledger_class,
    "Stream": lambda: importlib.import_module("unlisted.streams.stream").Stream,
    "connect": lambda: importlib.import_module("unlisted.client").connect,
}
"""What most programs never touch, and what needs an extra: imported on first use."""


def __getattr__(name: str) -> typing.Any:
    if name in _LATER:
        return _LATER[name]()
    raise AttributeError(f"module 'unlisted' has no attribute {name!r}")
