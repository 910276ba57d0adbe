"""Draw the pictures of the pages, from the demo's invented table.

`python docs/make_images.py [FOLDER]`. Noise is drawn anew, so the chart of the release is never twice the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import unlisted as ul
from unlisted.demo.searches import searches

FOLDER = Path(__file__).parent / "images"
MOST_BARS = 16


def main(arguments: list[str]) -> int:
    """Draw the release and its plan."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    table = ul.table(searches(), user="user")
    plan = table.histogram("query", budget=ul.Budget(epsilon=1, delta="1e-8"), items_per_user=10)
    plan.run().chart(MOST_BARS).save(folder / "demo.svg")
    plan.chart().save(folder / "chance.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
