"""A user in the logs of tables: never by id, and never by the same hash again."""

from tidemark.pipeline.amend.erase.person import Person


def test_an_interrupted_erasure_recognises_its_user_by_a_hash_that_changes() -> None:
    references = {Person("ann").reference() for _ in range(100)}
    assert len(references) == 100, "a precomputed list of hashes is useless"
    assert all(Person("ann").is_meant_by(reference) for reference in references)
    assert not any(Person("bob").is_meant_by(reference) for reference in references)
    assert all(0 < reference < 2**63 for reference in references)
    assert not Person("ann").is_meant_by(0)
