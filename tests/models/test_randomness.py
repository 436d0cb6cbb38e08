import math

import numpy as np
import pytest
import torch
from scipy import stats

from models.randomness import KeyedStreams, NormalSource, Purpose, keystream

KEY = bytes(range(32))


def test_keystream_is_rfc_8439_appendix_a1() -> None:
    assert keystream(bytes(32), bytes(12), 128).hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
    assert keystream(bytes(32), bytes(11) + b"\x02", 16).hex() == "c2c64d378cd536374ae204b9ef933fcd"


def test_keystream_decrypts_rfc_8439_section_2_4_2() -> None:
    # The RFC starts at block counter 1 with nonce 00000000 0000004a 00000000.
    nonce = bytes.fromhex("000000000000004a00000000")
    stream = keystream(KEY, nonce, 64 + 16)[64:]
    cipher = bytes.fromhex("6e2e359a2568f98041ba0728dd0d6981")
    assert bytes(a ^ b for a, b in zip(cipher, stream, strict=True)) == b"Ladies and Gentl"


def test_an_address_is_its_nonce() -> None:
    streams = KeyedStreams(KEY)
    assert streams.bytes(Purpose.POISSON, 0x0102, 40) == keystream(KEY, b"\x03\0\0\0\x02\x01" + bytes(6), 40)


def test_the_same_address_replays_and_another_does_not() -> None:
    one, other = KeyedStreams(KEY), KeyedStreams(bytes(32))
    first = one.normals(Purpose.TEST, 5, (3, 4))
    assert np.array_equal(first, KeyedStreams(KEY).normals(Purpose.TEST, 5, (3, 4)))
    assert not np.array_equal(first, one.normals(Purpose.TEST, 6, (3, 4)))
    assert not np.array_equal(first, one.normals(Purpose.POISSON, 5, (3, 4)))
    assert not np.array_equal(first, other.normals(Purpose.TEST, 5, (3, 4)))


def test_purposes_have_distinct_numbers() -> None:
    assert len({int(p) for p in Purpose}) == len(Purpose.__members__)


def test_the_key_is_not_printed() -> None:
    assert KEY.hex() not in repr(KeyedStreams(KEY))
    assert "sealed" in repr(KeyedStreams(KEY))


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedStreams(key)


def test_bad_addresses_are_refused() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        keystream(KEY, bytes(8), 1)
    with pytest.raises(ValueError, match="between"):
        keystream(KEY, bytes(12), -1)
    with pytest.raises(ValueError, match="between"):
        keystream(KEY, bytes(12), 2**38 + 1)
    for step in (-1, 2**64):
        with pytest.raises(ValueError, match="a step"):
            KeyedStreams(KEY).bytes(Purpose.TEST, step, 1)


def test_uniforms_fill_the_unit_interval() -> None:
    drawn = KeyedStreams(KEY).uniforms(Purpose.TEST, 1, 200_000)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-6
    coarse = KeyedStreams(KEY).torch_uniforms(Purpose.TEST, 1, (400, 500))
    assert coarse.dtype == torch.float32
    assert coarse.shape == (400, 500)
    assert 0.0 <= float(coarse.min()) <= float(coarse.max()) < 1.0
    assert stats.kstest(coarse.numpy().ravel(), "uniform").pvalue > 1e-6


def test_normals_follow_the_normal_distribution() -> None:
    # False alarm 1e-6 each; a draw of 400,001 tells a variance that is off by 1.2 %.
    drawn = KeyedStreams(KEY).normals(Purpose.TEST, 2, 400_001)
    assert drawn.dtype == np.float64
    assert stats.kstest(drawn, "norm").pvalue > 1e-6
    n = drawn.size
    chi = float((drawn**2).sum())
    assert stats.chi2(n).ppf(5e-7) < chi < stats.chi2(n).isf(5e-7)
    pairs = float((drawn[: n // 2] * drawn[n // 2 : n - 1]).mean() * np.sqrt(n // 2))  # cosine against sine
    assert abs(pairs) < 5.0


def test_normals_are_finite_at_the_extreme_words() -> None:
    words = np.array([0, 2**64 - 1, 2**64 - 1, 2**63, 0, 0], dtype=np.uint64)
    drawn = NormalSource().from_words(
        words,
        torch.empty(6, dtype=torch.float64),
        rare=np.arange(3),
        finer=np.array([0, 0, 2**64 - 1], dtype=np.uint64),
    )
    assert bool(torch.isfinite(drawn).all())
    assert float(drawn[0]) == pytest.approx(
        -math.sqrt(2 * 129 * math.log(2))
    )  # u = 2**-129, at the angle -pi
    assert float(drawn[1]) == pytest.approx(math.sqrt(2 * 2.0**-129))  # u = 1 - 2**-129 at the angle 0
    assert float(drawn[2]) == pytest.approx(math.sqrt(2 * 2.0**-64))


def test_torch_normals_round_the_float64_ones() -> None:
    streams = KeyedStreams(KEY)
    rounded = streams.torch_normals(Purpose.TEST, 3, (5, 7))
    assert rounded.dtype == torch.float32
    assert np.array_equal(rounded.numpy(), streams.normals(Purpose.TEST, 3, (5, 7)).astype(np.float32))


@pytest.mark.parametrize("probability", [0.0, 1e-4, 0.3, 0.5, 1.0])
def test_coins_fall_at_their_probability(probability: float) -> None:
    heads = KeyedStreams(KEY).coins(Purpose.TEST, 4, probability, 300_000)
    distribution = stats.binom(heads.size, probability)
    assert distribution.ppf(5e-7) <= heads.sum() <= distribution.isf(5e-7)


def test_a_reader_serves_the_stream_in_pieces() -> None:
    streams = KeyedStreams(KEY)
    reader = streams.reader(Purpose.TEST, 9)
    pieces = reader.take(3) + reader.words_into(np.empty(70_000, dtype=np.uint64)).tobytes() + reader.take(5)
    assert pieces == streams.bytes(Purpose.TEST, 9, 560_008)


def test_normals_in_pieces_are_the_same_numbers() -> None:
    streams = KeyedStreams(KEY)
    assert np.array_equal(
        streams.normals(Purpose.TEST, 9, 40_001)[:32_768], streams.normals(Purpose.TEST, 9, 32_768)
    )


@pytest.mark.parametrize("high", [1, 2, 3, 10, 256, 257])
def test_exact_integers_are_uniform(high: int) -> None:
    reader = KeyedStreams(KEY).reader(Purpose.TEST, high)
    counts = np.bincount([reader.below(high) for _ in range(20_000)], minlength=high)
    assert counts.size == high
    assert high == 1 or stats.chisquare(counts).pvalue > 1e-6


def test_nothing_is_below_zero() -> None:
    with pytest.raises(ValueError, match="below one"):
        KeyedStreams(KEY).reader(Purpose.TEST, 0).below(0)


def test_a_tie_is_decided_by_further_bits() -> None:
    # A probability of 2**-70 more than a word's value: the word ties, 6 more bits decide.
    streams = KeyedStreams(KEY)
    # private: three decisions on chosen bits; a draw comes to a tie once in 2^64 words
    assert not streams._decide_tie(Purpose.TEST, 7, 1, 0, 0, 2**70)
    fresh = int(streams.words(Purpose.TEST, 7, 2)[1])
    assert streams._decide_tie(Purpose.TEST, 7, 1, 0, fresh + 1, 2**64)  # private: likewise
    assert not streams._decide_tie(Purpose.TEST, 7, 1, 0, fresh, 2**64)  # private: likewise


def test_a_tie_in_a_draw_uses_the_rest_of_the_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    probability = 2.0**-52 * (1 + 2.0**-52)  # 104 bits: the first 64 hold 2**12, the rest is not zero
    numerator, denominator = probability.as_integer_ratio()
    threshold, rest = divmod(numerator << 64, denominator)
    words = np.array([threshold - 1, threshold, threshold + 1, 0, 0], dtype=np.uint64)
    streams = KeyedStreams(KEY)
    for last, expected in ((0, True), (2**64 - 1, False)):
        chosen = words.copy()
        chosen[4] = last
        monkeypatch.setattr(
            streams,
            "words",
            lambda _p, _s, count, w=chosen: np.append(w[:3], w[4:])[:count] if count == 3 else w,
        )
        assert rest > 0
        assert streams.coins(Purpose.TEST, 0, probability, 3).tolist() == [True, expected, False]


def test_a_probability_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        KeyedStreams(KEY).coins(Purpose.TEST, 0, 1.5, 1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        KeyedStreams(KEY).coins(Purpose.TEST, 0, float("nan"), 1)


@pytest.mark.parametrize("high", [1, 2, 7, 1000, 2**31])
def test_integers_are_uniform(high: int) -> None:
    drawn = KeyedStreams(KEY).integers(Purpose.TEST, 8, high, 70_000)
    assert drawn.min() >= 0
    assert drawn.max() < high
    if high <= 1000:
        counts = np.bincount(drawn, minlength=high)
        assert high == 1 or stats.chisquare(counts).pvalue > 1e-6
    else:
        assert stats.kstest((drawn + 0.5) / high, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("high", [0, -1, 2**31 + 1])
def test_integers_have_a_sane_bound(high: int) -> None:
    with pytest.raises(ValueError, match="below"):
        KeyedStreams(KEY).integers(Purpose.TEST, 8, high, 1)
