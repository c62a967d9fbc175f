"""The key's partition."""

import pytest

from tidemark.producers.partition import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_equals_the_values_in_kafkas_own_tests(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % 2**32


def test_users_spread_over_all_partitions_about_evenly() -> None:
    counts = [0, 0, 0, 0]
    for number in range(8_000):
        counts[partition_of(f"user-{number:06d}".encode(), 4)] += 1
    assert all(1_800 < count < 2_200 for count in counts)
