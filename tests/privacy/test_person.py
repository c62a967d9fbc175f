"""A person in the logs of tables: never by name, and never by the same hash again."""

from pipeline.amend.erase.person import Person


def test_an_erasure_that_was_cut_off_knows_its_person_again_by_a_hash_that_changes() -> None:
    references = {Person("ann").reference() for _ in range(100)}
    assert len(references) == 100, "a list of hashes that was made before tells nothing"
    assert all(Person("ann").is_meant_by(reference) for reference in references)
    assert not any(Person("bob").is_meant_by(reference) for reference in references)
    assert all(0 < reference < 2**63 for reference in references)
    assert not Person("ann").is_meant_by(0)
