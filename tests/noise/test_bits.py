"""One door for randomness, nobody can choose what comes through it, and it is never the same twice."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.statistical.goodness import accepts, g_test, rejects

import unlisted
from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits, CipherBits, fresh_bits

SOURCES = sorted(Path(unlisted.__file__).parent.rglob("*.py"))
EXACT = ("noise", "privacy", "mechanisms")
"""Where a float or a foreign generator would decide what is released."""


def test_two_doors_never_give_the_same_bits() -> None:
    first, second = fresh_bits().take(64), fresh_bits().take(64)
    assert first != second
    assert len(set(first)) > 1


def test_two_processes_never_give_the_same_bits() -> None:
    program = "from unlisted.noise.bits import fresh_bits; print(fresh_bits().take(32).hex())"
    printed = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(2)]
    first, second = (one.stdout.strip() for one in printed)
    assert len(first) == len(second) == 64
    assert first != second


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_repeat_its_parent() -> None:
    fresh_bits().take(8)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, fresh_bits().take(32))
        os._exit(0)
    os.waitpid(child, 0)
    mine, theirs = fresh_bits().take(32), os.read(reader, 32)
    os.close(reader)
    os.close(writer)
    assert len(theirs) == 32
    assert mine != theirs


def test_the_cipher_gives_one_row_however_it_is_cut() -> None:
    whole, cut = CipherBits(b"k" * 32), CipherBits(b"k" * 32)
    assert whole.take(100) == b"".join(cut.take(n) for n in (0, 1, 16, 17, 66))
    assert CipherBits(b"l" * 32).take(100) != CipherBits(b"k" * 32).take(100)


def test_the_cipher_is_aes_in_counter_mode() -> None:
    # A counter that starts at 0: the first block is the cipher of 0, the 257th that of 256.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(range(32))
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    stream = CipherBits(key).take(16 * 257)
    assert stream[:16] == block.update(bytes(16))
    assert stream[-16:] == block.update((256).to_bytes(16, "big"))


def test_bytes_are_fair() -> None:
    for bits in (CipherBits(b"k" * 32), KnownBits("fair")):
        drawn = np.frombuffer(bits.take(200_000), dtype=np.uint8)
        accepts(g_test(drawn, dict.fromkeys(range(256), 1 / 256)))
        accepts(g_test(np.unpackbits(drawn), {0: 0.5, 1: 0.5}))
    rejects(g_test(drawn & 0xFE, dict.fromkeys(range(256), 1 / 256)))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 100, 257])
def test_numbers_below_a_bound_are_uniform(n: int) -> None:
    bits = KnownBits(f"below {n}")
    drawn = [bits.below(n) for _ in range(20_000)]
    if n == 1:
        assert set(drawn) == {0}
    else:
        accepts(g_test(drawn, dict.fromkeys(range(n), 1 / n)))


def test_the_remainder_of_a_byte_is_not_uniform() -> None:
    # What `below` must not do: 256 = 2·100 + 56, so the first 56 come up more often.
    drawn = np.frombuffer(KnownBits("remainder").take(20_000), dtype=np.uint8) % 100
    rejects(g_test(drawn, dict.fromkeys(range(100), 1 / 100)))


def test_what_does_not_divide_evenly_is_drawn_again() -> None:
    bits = ScriptedBits(b"\xff", b"\xc0", b"\x7f")
    assert bits.below(3) == 1
    assert bits.unused == 0
    assert ScriptedBits().below(1) == 0, "no choice, no bits"


def test_bits_are_read_from_the_front() -> None:
    assert ScriptedBits(b"\xab\xcd").integer(12) == 0xABC
    assert ScriptedBits(b"\xab\xcd").integer(16) == 0xABCD
    assert ScriptedBits().integer(0) == 0
    assert ScriptedBits(b"\x80").integer(1) == 1
    assert ScriptedBits(b"\x01\x02" * 4).words(1)[0] == np.frombuffer(b"\x01\x02" * 4, dtype=np.uint64)[0]
    assert len(KnownBits("shorts").shorts(5)) == 5


@pytest.mark.parametrize("n", [0, -1, -100])
def test_a_bound_below_one_is_refused(n: int) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^n = {n} .+ 1 or above"):
        fresh_bits().below(n)


def test_known_bits_are_the_same_however_they_are_cut() -> None:
    whole, cut = KnownBits("cut"), KnownBits("cut")
    assert whole.take(200_000) == b"".join(cut.take(n) for n in (1, 65_535, 65_536, 68_928))
    assert KnownBits("cut").take(50) != KnownBits("other").take(50)


def test_a_script_that_is_too_short_says_so() -> None:
    bits = ScriptedBits(b"ab", b"c")
    assert bits.take(2) == b"ab"
    with pytest.raises(AssertionError, match="2 bytes were drawn where the script has 1 left"):
        bits.take(2)


def parameters(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            named = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            yield from (one.arg for one in [*named, node.vararg, node.kwarg] if one is not None)


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Attribute) and node.attr == "random" and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.random"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_seed_is_reachable(path: Path) -> None:
    found = [name for name in parameters(ast.parse(path.read_text(encoding="utf-8"))) if "seed" in name.lower()]
    assert not found, "whoever may choose the seed may recompute the noise"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.parent.name in EXACT], ids=lambda path: path.stem)
def test_no_other_generator_is_imported_where_noise_is_made(path: Path) -> None:
    names = set(imported(ast.parse(path.read_text(encoding="utf-8"))))
    assert not names & {"random", "secrets", "numpy.random", "np.random", "scipy", "scipy.stats"}


def test_the_door_is_found_where_it_should_be() -> None:
    # Guards the two tests above: they look at real files, and would notice.
    assert {"bits", "keyed", "threshold_histogram", "convert"} <= {path.stem for path in SOURCES}
    tree = ast.parse("import numpy as np\ndef noise(n, *, Seed=3): return np.random.normal()")
    assert "Seed" in set(parameters(tree))
    assert "np.random" in set(imported(tree))
    assert issubclass(CipherBits, Bits)
