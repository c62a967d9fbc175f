"""The partition of a key by Kafka's default hash (murmur2), as Java clients compute it.

Records are sent with an explicit partition, because the simulator must know the users of a silent partition, and the
truth file counts the records of each partition.
"""

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Returns the partition of `key` on a topic with `partitions` partitions, as Kafka's own producer chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Returns Kafka's 32-bit murmur2 hash, unsigned (org.apache.kafka.common.utils.Utils.murmur2)."""
    whole = len(data) & ~3
    h = _SEED ^ len(data)
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15
