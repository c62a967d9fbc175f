"""The site and its crowd: users arrive, visit pages, click, leave, and others take their place."""

from dataclasses import dataclass

import numpy as np

from producers.arrays import Bools, Ints, Octets


@dataclass(frozen=True)
class Site:
    """The pages and the crowd that visits them; the shares are per event.

    With a `zipf` exponent above 0 an event is that of the user of rank r with a probability in proportion to r^-zipf,
    and `hot_share` of all events are those of the first user. Raises ValueError for a site without users or pages.
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
            raise ValueError(f"a site of {self.users} users and {self.pages} pages; both must be above 0")
        if self.zipf < 0:
            raise ValueError(f"a Zipf exponent of {self.zipf:g}; it must not be below 0")


@dataclass(frozen=True)
class Acts:
    """Acts, one entry each; `referrers` and `pages` are page numbers, -1 for none."""

    users: Ints
    visits: Bools
    pages: Ints
    referrers: Ints
    sessions: Octets  # shape (n, 8): the session's random id


class Crowd:
    """Who is on the site now and on which page. A quarter of all users at any time."""

    def __init__(self, site: Site, rng: np.random.Generator) -> None:
        self._site, self._rng = site, rng
        self.present = max(1, site.users // 4)
        # The first `present` users are on the site; leaving is a swap with one of the rest.
        self._users = rng.permutation(site.users)
        self._page = np.full(self.present, -1)
        self._session = self._session_ids(self.present)
        # Of each rank the share of all acts that are of users up to it.
        self._up_to = np.cumsum(np.arange(1.0, site.users + 1) ** -site.zipf) if site.zipf else np.ones(0)

    def act(self, count: int) -> Acts:
        """One act each of `count` users on the site, `count <= present`, in random order.

        Where some users do more than others, one may act more than once.
        """
        rng, site = self._rng, self._site
        seats = rng.choice(self.present, count, replace=False)
        before = self._page[seats]
        # Arriving is a visit: there is nothing yet to click on.
        visits = (before < 0) | (rng.random(count) >= site.click_share)
        pages = np.where(visits, self._popular_pages(count), before)
        acts = Acts(
            users=self._who(seats),
            visits=visits,
            pages=pages,
            referrers=np.where(visits, before, -1),
            sessions=self._session[seats],
        )
        self._page[seats] = pages
        self._leave(seats[rng.random(count) < site.leave_share])
        return acts

    def _who(self, seats: Ints) -> Ints:
        """The users who act in these seats, where they are not equally busy: those of a rank, and the first one."""
        users = self._users[seats]
        if self._site.zipf:
            users = np.searchsorted(self._up_to, self._rng.random(len(seats)) * self._up_to[-1])
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
        # The cube makes an eighth of the pages take half of the visits.
        return (self._site.pages * self._rng.random(count) ** 3).astype(np.int64)

    def _session_ids(self, count: int) -> Octets:
        return self._rng.integers(0, 256, (count, 8), np.uint8)
