import base64
import os

from core.platform.access.keys import digest_of, digests_equal, make_key, parse_key, pepper_from


def test_a_key_has_the_documented_shape_and_256_random_bits() -> None:
    drawn: list[int] = []

    def entropy(count: int) -> bytes:
        drawn.append(count)
        return os.urandom(count)

    key = make_key(entropy)
    assert sorted(drawn) == [4, 32]
    assert parse_key(key.text) == key
    secret = key.text.removeprefix(f"us_{key.prefix}_")
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32


def test_two_keys_differ() -> None:
    assert make_key(os.urandom) != make_key(os.urandom)


def test_text_that_is_no_key_is_not_parsed() -> None:
    good = make_key(os.urandom).text
    for bad in (
        "",
        "us_",
        good[:-1],
        good + "x",
        good.upper(),
        " " + good,
        good + "\n",
        good.replace("us_", "sk_"),
    ):
        assert parse_key(bad) is None


def test_the_digest_depends_on_every_bit_of_key_and_pepper() -> None:
    pepper = pepper_from(b"m" * 32)
    key = make_key(os.urandom)
    last = "A" if key.text[-1] != "A" else "E"
    other = parse_key(key.text[:-1] + last)
    assert other is not None
    digest = digest_of(key, pepper=pepper)
    assert len(digest) == 32
    assert digests_equal(digest, digest_of(key, pepper=pepper))
    assert not digests_equal(digest, digest_of(other, pepper=pepper))
    assert not digests_equal(digest, digest_of(key, pepper=pepper_from(b"n" * 32)))


def test_the_pepper_is_not_the_master_key() -> None:
    assert pepper_from(b"m" * 32) != b"m" * 32
    assert len(pepper_from(b"m" * 32)) == 32


def test_printing_a_key_does_not_show_the_secret() -> None:
    key = make_key(os.urandom)
    assert key.text not in repr(key)
    assert key.prefix in repr(key)
