"""Keyed noise: the same label at the same node always gets the same noise, and nothing else does."""

from __future__ import annotations

import hmac
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from tests.mechanisms.continual.correlated_reference import tag_of
from tests.noise.exact_laws import masses
from tests.statistical.goodness import accepts, distance_test, g_test, rejects

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import CipherBits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import TAG_BYTES, KeyedDraws, NoiseKey
from unlisted.noise.law import ExactLaw

KEY = NoiseKey(bytes(range(32)))
LABELS = [b"label %d" % i for i in range(500)]
LAWS = [DiscreteGaussian(Fraction("30.25")), DiscreteLaplace(Fraction(4)), DiscreteGaussian(Fraction(5000**2))]
laws = pytest.mark.parametrize("law", LAWS, ids=str)


def noise(law: ExactLaw, node: bytes, labels: list[bytes], key: NoiseKey = KEY) -> list[int]:
    drawn: list[int] = law.sample_each(key.draws(node, key.tags(labels))).tolist()
    return drawn


@laws
def test_the_same_label_and_node_get_the_same_noise_in_any_batch_and_order(law: ExactLaw) -> None:
    together = dict(zip(LABELS, noise(law, b"node", LABELS), strict=True))
    backwards = dict(zip(LABELS[::-1], noise(law, b"node", LABELS[::-1]), strict=True))
    assert together == backwards
    for label in LABELS[:20]:
        assert noise(law, b"node", [label]) == [together[label]]
    some = LABELS[100:200:7]
    assert noise(law, b"node", some) == [together[label] for label in some]
    assert noise(law, b"node", [b"x", b"x"])[0] == noise(law, b"node", [b"x"])[0]


@laws
def test_another_key_label_or_node_gets_other_noise(law: ExactLaw) -> None:
    here = noise(law, b"node", LABELS)
    for other in (
        noise(law, b"edon", LABELS),
        noise(law, b"", LABELS),
        noise(law, b"node", [label + b"!" for label in LABELS]),
        noise(law, b"node", LABELS, NoiseKey(bytes(32))),
    ):
        same = np.mean(np.array(here) == np.array(other))
        assert same < 3 * max(masses(law).values()) if law is not LAWS[2] else same < 0.01


@pytest.mark.parametrize("law", LAWS[:2], ids=str)
def test_keyed_noise_has_the_law(law: ExactLaw) -> None:
    over_labels = noise(law, b"one node", [b"%d" % i for i in range(20_000)])
    over_nodes = [noise(law, b"node %d" % i, [b"one label"])[0] for i in range(1500)]
    accepts(g_test(over_labels, masses(law)), distance_test(over_labels, masses(law)))
    accepts(g_test(over_nodes, masses(law)))
    wrong = (
        DiscreteLaplace(Fraction("4.4")) if isinstance(law, DiscreteLaplace) else DiscreteGaussian(Fraction(36))
    )
    rejects(g_test(noise(wrong, b"one node", [b"%d" % i for i in range(20_000)]), masses(law)))


def test_two_nodes_of_a_label_are_independent() -> None:
    law = LAWS[0]
    one, other = (np.array(noise(law, node, [b"%d" % i for i in range(20_000)])) for node in (b"a", b"b"))
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / 20_000**0.5
    assert abs(np.corrcoef(one, one)[0, 1]) > 5 / 20_000**0.5


def test_every_stage_of_a_draw_is_fixed_and_of_its_own() -> None:
    tags = KEY.tags(LABELS)
    draws, again = KEY.draws(b"node", tags), KEY.draws(b"node", tags)
    some = np.array([3, 77, 400])
    assert len(draws) == len(LABELS)
    assert np.array_equal(draws.leading(), again.leading())
    assert np.array_equal(draws.following(some), again.following(np.arange(500))[some])
    assert draws.more(5).take(40) == again.more(5).take(40) == draws.more(5).take(40), "from its start, each time"
    assert draws.more(5).take(40) != draws.more(6).take(40)
    assert draws.more(5).take(40) != KEY.draws(b"other", tags).more(5).take(40)


def test_the_stages_are_the_documented_bits_and_share_none() -> None:
    tags = KEY.tags([b"a"])
    draws = KEY.draws(b"node", tags)
    node_key = hmac.digest(bytes(range(32)), b"node:node", "sha256")
    block = Cipher(algorithms.AES(node_key), modes.ECB()).encryptor().update(tags.tobytes())
    assert draws.leading().astype("<u2").tobytes() == block[:2]
    assert draws.following(np.array([0])).astype("<u8").tobytes() == block[2:10]
    more_key = hmac.digest(bytes(range(32)), b"more:" + tags.tobytes() + b"node", "sha256")
    assert draws.more(0).take(50) == CipherBits(more_key).take(50)


def test_a_forced_boundary_continues_with_the_draws_own_bits() -> None:
    law = LAWS[0]
    real = KEY.draws(b"node", KEY.tags([b"a", b"b"]))
    # 80 zero bits leave the value open whatever the law, so each draw goes on with bits of its own.
    open_ = KeyedDraws(np.zeros((2, TAG_BYTES), dtype=np.uint8), real.more)
    drawn = law.sample_each(open_)
    swapped = law.sample_each(KeyedDraws(np.zeros((2, TAG_BYTES), dtype=np.uint8), lambda i: real.more(1 - i)))
    assert drawn.tolist() == swapped.tolist()[::-1]
    assert np.all(drawn < -40), "64 zeros are the far tail"


def test_tags_are_keyed_and_distinct() -> None:
    tags = KEY.tags(LABELS)
    assert tags.shape == (500, TAG_BYTES)
    assert tags.dtype == np.uint8
    assert len({row.tobytes() for row in tags}) == 500
    assert np.array_equal(tags[7:9], KEY.tags(LABELS[7:9]))
    assert not np.array_equal(tags, NoiseKey(bytes(32)).tags(LABELS))
    expected = hmac.digest(bytes(range(32)), b"label:" + LABELS[0], "sha256")[:TAG_BYTES]
    assert tags[0].tobytes() == expected, "a stream reopened by a later version must meet its old noise"


def test_noise_is_the_same_for_ever() -> None:
    # Golden values: a change here would give old streams new noise, which is a second release.
    assert noise(LAWS[0], b"node", [b"a", b"b", b"\x00", b""]) == [-2, -8, -2, 11]
    assert noise(LAWS[1], b"node", [b"a", b"b", b"\x00", b""]) == [-1, -8, -2, 13]
    assert noise(LAWS[2], b"node", [b"a", b"b"]) == [614, 3328]


def test_no_labels_no_noise() -> None:
    assert KEY.tags([]).shape == (0, TAG_BYTES)
    assert noise(LAWS[0], b"node", []) == noise(LAWS[2], b"node", []) == []


def test_fresh_keys_differ_and_show_nothing() -> None:
    one, other = NoiseKey.fresh(), NoiseKey.fresh()
    assert noise(LAWS[0], b"n", LABELS, one) != noise(LAWS[0], b"n", LABELS, other)
    assert repr(one) == str(one) == "<NoiseKey>"


@pytest.mark.parametrize("secret", [b"", b"short", b"x" * 31, b"x" * 33, "x" * 32, None, bytearray(32)])
def test_a_key_of_the_wrong_kind_is_refused_and_not_quoted(secret: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^secret = '<hidden>' .+ 32 bytes") as caught:
        NoiseKey(secret)  # type: ignore[arg-type]
    assert "short" not in str(caught.value)


def test_tags_of_many_names_at_once_are_those_of_one_at_a_time() -> None:
    """CBC-MAC over the length and the name, as a library of ciphers does it, for every length around a block."""
    names = [b"", b"a", b"\0", b"a\0", *(b"x" * n for n in (15, 16, 17, 31, 32, 33, 1024)), *LABELS]
    data = np.frombuffer(b"".join([b"before", *names]), np.uint8)
    ends = 6 + np.cumsum([0, *map(len, names)])
    found = KEY.block_tags(data, ends, of=b"things")
    for name, tag in zip(names, found, strict=True):
        assert tag.tobytes() == tag_of(KEY, name, b"things")
    assert len({tag.tobytes() for tag in found}) == len(names)
    assert np.array_equal(KEY.block_tags(data, ends[3:6], of=b"things"), found[3:5])
    assert KEY.block_tags(data, ends[:1], of=b"things").shape == (0, TAG_BYTES)
    for other in (
        KEY.block_tags(data, ends, of=b"others"),
        NoiseKey(bytes(32)).block_tags(data, ends, of=b"things"),
    ):
        assert not np.any(np.all(other == found, axis=1))
