"""unlisted: private counts when nobody has the list.

A release is bounded counts, exact noise, and a price whose ceiling is reserved before the noise is drawn.

    errors       every refusal a caller can meet
    privacy/     guarantees, conversions, calibration
    noise/       exact integer noise, and the one door for randomness
    counts/      what tables and mechanisms share: labels, bounded counts, weights
    mechanisms/  one idea a file, its proof beside it
    tables/      rows -> bounded counts, inside the engine
    release/     the answer: how it reads, is written, kept and drawn
    query/       from a question to a plan, and from a plan to a release
    ledger/      the durable budget: accounts, immutable entries, balance as a fold
    streams/     a running histogram that survives anything
    audit/       do the guarantees hold? the lemma executed, and attacks
    demo/        a table of invented people
    server/      many analysts over HTTP, one shared budget
    cli/         one verb a file
"""

import importlib as _importlib
import typing as _typing

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import (
    AccessError,
    BudgetRefusedError,
    CannotAnswerError,
    ChargedFailureError,
    FrozenError,
    InvalidArgumentError,
    InvalidCountsError,
    LedgerError,
    MissingExtraError,
    StreamError,
    UncertainError,
    UnlistedError,
)
from unlisted.ledger.terms import ResultsBudget
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.mechanism import (
    Accuracy,
    AllCounts,
    Answer,
    Description,
    LargestCounts,
    Mechanism,
    Weights,
)
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query.plan import Plan
from unlisted.query.private_counts import PrivateCounts, counts
from unlisted.query.private_table import PrivateTable, table
from unlisted.release.release import Release

if _typing.TYPE_CHECKING:
    from unlisted.ledger.ledger import Ledger
    from unlisted.query.counts_elsewhere import counting_sql, read_counts
    from unlisted.query.project_file import dataset
    from unlisted.query.remote_table import connect
    from unlisted.query.session import Session
    from unlisted.query.smallest_epsilon import smallest_epsilon
    from unlisted.release.compare import Comparison, compare
    from unlisted.streams.folder import ExposedKeyWarning
    from unlisted.streams.question import EventLevelWarning
    from unlisted.streams.stream import Stream
    from unlisted.tables.checking import check

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "Accuracy",
    "AllCounts",
    "Answer",
    "BoundedCounts",
    "Budget",
    "BudgetRefusedError",
    "CannotAnswerError",
    "ChargedFailureError",
    "Comparison",
    "Description",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EpsilonDelta",
    "EventLevelWarning",
    "ExposedKeyWarning",
    "FrozenError",
    "Guarantee",
    "InvalidArgumentError",
    "InvalidCountsError",
    "LargestCounts",
    "Law",
    "Ledger",
    "LedgerError",
    "Mechanism",
    "MissingExtraError",
    "PayWhatYouGet",
    "Plan",
    "PrivateCounts",
    "PrivateTable",
    "Ranking",
    "Release",
    "ResultsBudget",
    "RunningHistogram",
    "Sensitivity",
    "Session",
    "Stream",
    "StreamError",
    "ThresholdHistogram",
    "TopHistogram",
    "TopK",
    "UncertainError",
    "UnlistedError",
    "Weights",
    "check",
    "compare",
    "connect",
    "counting_sql",
    "counts",
    "dataset",
    "read_counts",
    "smallest_epsilon",
    "table",
]


_LATER = {
    "Comparison": "unlisted.release.compare",
    "EventLevelWarning": "unlisted.streams.question",
    "ExposedKeyWarning": "unlisted.streams.folder",
    "Ledger": "unlisted.ledger",
    "Session": "unlisted.query.session",
    "Stream": "unlisted.streams.stream",
    "check": "unlisted.tables.checking",
    "compare": "unlisted.release.compare",
    "connect": "unlisted.query.remote_table",
    "counting_sql": "unlisted.query.counts_elsewhere",
    "dataset": "unlisted.query.project_file",
    "read_counts": "unlisted.query.counts_elsewhere",
    "smallest_epsilon": "unlisted.query.smallest_epsilon",
}
"""What most programs never touch, or what needs an extra: imported on first use."""


def __getattr__(name: str) -> _typing.Any:
    if name in _LATER:
        return getattr(_importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'unlisted' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
