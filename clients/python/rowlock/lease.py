"""The lease: when it is trusted, how it is renewed, and how it begins and ends."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import Any, Optional

from .errors import Held, Lost, Unavailable, Unknown
from .store import Request, Store, clock, open_store


class Lease:
    """Is a lock that this process holds. A daemon thread renews it. The methods may be called from any thread."""

    def __init__(self, store: Store, request: Request, token: int, sent: float, doubted: Optional[float]) -> None:
        self.request, self.token = request, token
        self.name, self.namespace, self.nonce, self.kind = request.name, request.namespace, request.nonce, store.kind
        self._store, self._doubted = store, doubted
        self._deadline = self._deadline_from(sent)
        self._guard = threading.Lock()  # of _deadline and _lost
        self._lost = ""
        self._stop = threading.Event()
        self._released = False
        self._heart = threading.Thread(target=self._beat, name=f"rowlock {request.name}", daemon=True)
        self._heart.start()

    def _deadline_from(self, sent: float) -> float:
        """Returns when trust ends, which is counted from when the request was sent."""
        return sent + self._store.trust(self.request)

    @property
    def deadline(self) -> float:
        """The time on clock() until which the lease is trusted, unless a renewal moves it."""
        with self._guard:
            return self._deadline

    def left(self) -> float:
        """Returns for how many seconds the lease is still trusted, or 0."""
        with self._guard:
            if not self._lost and clock() >= self._deadline:
                self._lost = "it was not renewed in time"
            return 0.0 if self._lost else self._deadline - clock()

    def check(self) -> None:
        """Raises Lost if the lease has ended. It sends nothing."""
        if self.left() <= 0 or self._released:
            raise Lost(f"{self.name!r}: {self._lost or 'the lease was released'}")

    def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before, and Unknown or Unavailable if no reply came: a background
        thread then retries. A second call does nothing."""
        if self._released:
            return
        self._stop.set()
        self._heart.join()  # a renewal in progress has its own limit
        held, self._released = self.left() > 0, True
        try:
            freed = self._store.release(self.request, self.token, self.request.limit)
        except (Unknown, Unavailable) as e:
            _resolve(self._store, self.request, clock())
            if held:
                raise
            raise Lost(f"{self.name!r}: {self._lost}") from e
        if self._doubted is not None:
            _resolve(self._store, self.request, self._doubted)
        else:
            self._store.close()
        if not held or not freed:
            raise Lost(f"{self.name!r}: {self._lost or 'the store no longer has the lease'}")

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.release()
        except Lost:
            if kind is None:
                raise
        except (Unknown, Unavailable):
            pass  # the work was done under the lock, and the lock expires

    def _beat(self) -> None:
        ttl, pause = self.request.ttl, self.request.ttl / 3
        while not self._stop.wait(pause):
            left = self.left()
            if left <= 0:
                return
            sent, pause = clock(), min(ttl / 20, 1.0)
            try:
                outcome = self._store.renew([(self.request, self.token)], min(5.0, max(left / 3, ttl / 10)))[0]
            except (Unknown, Unavailable):
                continue
            with self._guard:
                if outcome == "lost" and not self._lost:
                    self._lost = "the store no longer has the lease"
                elif outcome == "renewed" and not self._lost and clock() < self._deadline:  # a late reply revives nothing
                    self._deadline, pause = self._deadline_from(sent), ttl / 3


def _resolve(store: Store, r: Request, since: float) -> None:
    """Releases in the background what a request without a reply may have left. The time since is when the last such
    request was sent."""

    def work() -> None:
        limit, pause = r.limit, 0.05
        while clock() - since < r.ttl + r.handover_delay + limit:
            with contextlib.suppress(Unknown, Unavailable):
                store.release(r, 0, limit)
                if clock() - since > 2 * limit:  # no request of this nonce can arrive any longer
                    break
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        store.close()

    threading.Thread(target=work, name=f"rowlock release {r.name}", daemon=True).start()


def lock(url: str, name: str, ttl: float = 30.0, wait: Optional[float] = None, *, namespace: str = "", note: str = "") -> Lease:
    """Acquires the lock and returns its lease, for use in a with statement.

    url is the address of the store. The lease has a connection of its own. wait is for how many seconds to wait for
    other holders; None waits without a limit, and 0 makes one attempt. Raises Held, or Unavailable if the store did not
    answer in time."""
    return acquire(open_store(url), Request(name, ttl, namespace, note=note), wait)


def acquire(store: Store, r: Request, wait: Optional[float] = None) -> Lease:
    """Acquires r through store, which then belongs to the lease. See lock."""
    limit, started = r.limit, clock()
    outage = 2 * limit if wait == 0 else min(max(r.ttl, 2 * limit), 60.0)
    answered, waiting = started, False
    doubted: Optional[float] = None  # when the last request was sent whose effect is unknown
    try:
        while True:
            sent, before = clock(), doubted
            doubted = sent  # until the outcome is known, also if an exception such as KeyboardInterrupt ends the request
            try:
                token = store.acquire(r, limit, waiting)
                if clock() < sent + store.trust(r):
                    _leave(store, r, waiting)
                    return Lease(store, r, token, sent, before)
                problem: Exception = Unknown("the grant came too late")
            except Held as held:
                doubted, answered = before, clock()
                left = outage if wait is None else started + wait - answered
                if left <= 0:
                    raise
                if waiting:
                    store.rest(held, left)
                waiting = True  # the first request of the queue is sent at once, because the lock may be free by now
                continue
            except Unavailable as e:
                doubted, problem = before, e
                if e.permanent:
                    raise
            except Unknown as e:
                problem = e
            if clock() - answered >= outage:
                raise Unavailable(str(problem)) from problem
            time.sleep(random.uniform(0.01, 0.2))
    except BaseException:
        _leave(store, r, waiting)
        if doubted is not None:
            _resolve(store, r, doubted)
        else:
            store.close()
        raise


def _leave(store: Store, r: Request, waiting: bool) -> None:
    if waiting:
        with contextlib.suppress(Unknown, Unavailable):  # releases soon ignore a process that is gone
            store.leave(r, 1.0)
