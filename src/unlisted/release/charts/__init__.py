"""Charts with Altair: answers with their error bars, plans, spending, streams, and what is guaranteed."""

from unlisted.release.charts.answer import release_chart, write_chart
from unlisted.release.charts.curves import PAGE_INK, plan_chart, privacy_chart, spending_chart
from unlisted.release.charts.drawing import chart_bytes, require_format, save_chart
from unlisted.release.charts.streams import stream_chart

__all__ = [
    "PAGE_INK",
    "chart_bytes",
    "plan_chart",
    "privacy_chart",
    "release_chart",
    "require_format",
    "save_chart",
    "spending_chart",
    "stream_chart",
    "write_chart",
]
