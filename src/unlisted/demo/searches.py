"""The demo's table: what 6,000 invented people typed into an invented recipe site's search box.

Everything in it is invented, and the same on every machine. It has the shape of a real search log:
some queries that everybody types, a long tail that one or two people type, a few people who search
all day, and now and then something that must never be published. The words are in `words.py`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import accumulate
from random import Random

import pyarrow as pa

from unlisted.demo.words import (
    DINNERS,
    FAMILIES,
    INGREDIENTS,
    ODD_SHAPES,
    PASTED_BY_ONE_PERSON,
    RELATIVES,
    SEASONS,
    SENSITIVE,
    WAYS,
)

__all__ = ["searches", "sensitive"]

PEOPLE = 6_000
DAYS = tuple(date(2025, 11, 1) + timedelta(days) for days in range(60))
TIMES_PASTED = 420

# (people in a thousand, fewest searches, most searches). The last two rows are why a release has to
# bound what one person can do to it.
ACTIVITY = (
    (380, 1, 4),
    (370, 5, 10),
    (170, 11, 20),
    (70, 21, 45),
    (8, 60, 150),
    (2, 250, 600),
)

# Out of a hundred searches, so many that hardly anybody else makes.
ODD_PERCENT = 6

# Popularity falls like 1 / (rank + FLATTENING): Zipf's law with a head that one query does not own.
FLATTENING = 5

DEVICES = ("phone", "phone", "phone", "phone", "phone", "desktop", "desktop", "desktop", "tablet")

# Letters of other alphabets that a keyboard in the wrong mode puts in place of Latin ones.
LOOK_ALIKE_LETTERS = str.maketrans("aceop", "\u0430\u0441\u0435\u043e\u0440")


def searches() -> pa.Table:
    """Make the invented table, about 60,000 rows, in the order of the days.

    Columns: `user` (int64), `query` (string), `day` (date32), `device` (phone, tablet or desktop).
    """
    # A fixed seed makes test data, never noise: noise comes from unlisted.noise.bits alone. Only
    # random() is called, since it is what Python promises to repeat in every version.
    random = Random(20251101)  # noqa: S311
    own_device = [_pick(random, DEVICES) for _ in range(PEOPLE + 1)]
    rows = [
        (
            _day(random, query),
            user,
            query,
            own_device[user] if random.random() < 0.9 else _pick(random, DEVICES),
        )
        for user, query in (*_everyday(random), *_slips(random))
    ]
    days, users, queries, devices = zip(*sorted(rows), strict=True)
    return pa.table(
        {
            "user": pa.array(users, pa.int64()),
            "query": pa.array(queries, pa.string()),
            "day": pa.array(days, pa.date32()),
            "device": pa.array(devices, pa.string()),
        }
    )


def sensitive() -> frozenset[str]:
    """Return the queries that must never be published; at most three people typed each."""
    return frozenset(SENSITIVE)


def _everyday(random: Random) -> Iterator[tuple[int, str]]:
    """Yield (user, query) for the ordinary searches of everybody."""
    popular = _popular()
    # Division and addition round the same way on every machine; a power might not.
    popularity = list(accumulate(1 / (rank + FLATTENING) for rank in range(1, len(popular) + 1)))
    groups = list(accumulate(people for people, _, _ in ACTIVITY))
    for user in range(1, PEOPLE + 1):
        _, fewest, most = ACTIVITY[bisect(groups, random.random() * groups[-1])]
        for _ in range(fewest + int(random.random() * (most - fewest + 1))):
            query = popular[bisect(popularity, random.random() * popularity[-1])]
            if random.random() * 100 < ODD_PERCENT:
                query = _typo(random, query) if random.random() < 0.5 else _odd(random)
            yield user, query


def _slips(random: Random) -> Iterator[tuple[int, str]]:
    """Yield (user, query) for what nobody meant to tell a search box."""
    for query, people in SENSITIVE.items():
        times = TIMES_PASTED if query == PASTED_BY_ONE_PERSON else 1
        for _ in range(people):
            user = 1 + int(random.random() * PEOPLE)
            for _ in range(times):
                yield user, query


def _popular() -> list[str]:
    """List the well-formed queries, most popular first.

    A query's place is its name's place times its shape's, so "carbonara" comes before "easy
    carbonara", and the families take turns.
    """
    places = {
        shape.format(name): (family.first_place + name_place) * shape_place
        for family in FAMILIES
        for name_place, name in enumerate(family.names)
        for shape_place, shape in enumerate(family.shapes, start=1)
    }
    return sorted(places, key=places.__getitem__)


def _typo(random: Random, query: str) -> str:
    """Mistype one letter: drop it, double it, swap it with the next, or take a look-alike."""
    place = int(random.random() * (len(query) - 1))
    before, letter = query[:place], query[place]
    following, after = query[place + 1 : place + 2], query[place + 2 :]
    mistyped = (
        following,
        letter + letter + following,
        following + letter,
        letter.translate(LOOK_ALIKE_LETTERS) + following,
    )
    # A query of one letter cannot lose it: nobody searches for nothing.
    return before + _pick(random, mistyped) + after or query


def _odd(random: Random) -> str:
    """Put together a wish that hardly anybody shares."""
    return _pick(random, ODD_SHAPES).format(
        first=_pick(random, INGREDIENTS),
        second=_pick(random, INGREDIENTS),
        way=_pick(random, WAYS),
        dish=_pick(random, DINNERS.names),
        relative=_pick(random, RELATIVES),
        number=2 + int(random.random() * 30),
    )


def _day(random: Random, query: str) -> date:
    """Choose a day of the query's season, or any day if it has none."""
    first, last = SEASONS.get(query, (0, len(DAYS) - 1))
    return DAYS[first + int(random.random() * (last - first + 1))]


def _pick(random: Random, options: Sequence[str]) -> str:
    """Choose one of the options, each with the same chance."""
    return options[int(random.random() * len(options))]
