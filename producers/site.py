"""The site and its users, who arrive, visit pages, click, and leave to be replaced by others."""

from dataclasses import dataclass

import numpy as np

from tidemark.command_line.counts import counted
from tidemark.producers.arrays import Bools, Ints, Octets


@dataclass(frozen=True)
class Site:
    """Pages, users and their behaviour; the shares are per event.

    With a `zipf` exponent above 0, the probability that an event belongs to the user of rank r is proportional to
    r^-zipf. A share `hot_share` of all events belongs to the first user. Raises ValueError for a site without users or
    pages.
    """

    users: int = 50_000
    pages: int = 2_000
    click_share: float = 0.4
    leave_share: float = 0.1
    zipf: float = 0.0
    hot_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.users < 1 or self.pages < 1:
            size = f"{counted(self.users, 'user')} and {counted(self.pages, 'page')}"
            raise ValueError(f"a site of {size}; both must be above 0")
        if self.zipf < 0:
            raise ValueError(f"a Zipf exponent of {self.zipf:g}; it must not be below 0")


@dataclass(frozen=True)
class Acts:
    """Acts, one entry per act; `pages` and `referrers` are page numbers, -1 for no page."""

    users: Ints
    visits: Bools
    pages: Ints
    referrers: Ints
    sessions: Octets  # shape (n, 8): random session ids


class Crowd:
    """The users on the site and the page of each. A quarter of all users is on the site at any time."""

    def __init__(self, site: Site, rng: np.random.Generator) -> None:
        self._site, self._rng = site, rng
        self.present = max(1, site.users // 4)
        # The first `present` users are on the site; a user who leaves is swapped with one of the others.
        self._users = rng.permutation(site.users)
        self._page = np.full(self.present, -1)
        self._session = self._session_ids(self.present)
        # Share of all acts of the users up to each rank.
        self._cumulative = np.cumsum(np.arange(1.0, site.users + 1) ** -site.zipf) if site.zipf else np.ones(0)

    def act(self, count: int) -> Acts:
        """Returns one act of each of `count` users on the site, `count <= present`, in random order.

        If users are not equally active, a user may act more than once.
        """
        rng, site = self._rng, self._site
        seats = rng.choice(self.present, count, replace=False)
        before = self._page[seats]
        # Arriving is a visit: there is nothing yet to click on.
        visits = (before < 0) | (rng.random(count) >= site.click_share)
        pages = np.where(visits, self._popular_pages(count), before)
        acts = Acts(
            users=self._acting_users(seats),
            visits=visits,
            pages=pages,
            referrers=np.where(visits, before, -1),
            sessions=self._session[seats],
        )
        self._page[seats] = pages
        self._leave(seats[rng.random(count) < site.leave_share])
        return acts

    def _acting_users(self, seats: Ints) -> Ints:
        """Returns the user who acts in each of `seats`; `zipf` and `hot_share` make some users more active."""
        users = self._users[seats]
        if self._site.zipf:
            users = np.searchsorted(self._cumulative, self._rng.random(len(seats)) * self._cumulative[-1])
        if self._site.hot_share:
            users = np.where(self._rng.random(len(seats)) < self._site.hot_share, 0, users)
        return users

    def _leave(self, seats: Ints) -> None:
        self._page[seats] = -1
        self._session[seats] = self._session_ids(len(seats))
        elsewhere = len(self._users) - self.present
        swapped = seats[:elsewhere]
        if len(swapped):
            arriving = self.present + self._rng.choice(elsewhere, len(swapped), replace=False)
            self._users[swapped], self._users[arriving] = (self._users[arriving], self._users[swapped])

    def _popular_pages(self, count: int) -> Ints:
        # By the cube, an eighth of the pages gets half of the visits.
        return (self._site.pages * self._rng.random(count) ** 3).astype(np.int64)

    def _session_ids(self, count: int) -> Octets:
        return self._rng.integers(0, 256, (count, 8), np.uint8)
