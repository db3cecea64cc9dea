"""The lease: when it is trusted, how it is renewed, and how it begins and ends."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import Any, Optional

from .errors import Held, Lost, Unavailable, Unknown
from .store import Request, Store, clock


class Lease:
    """Is a lock that this process holds. A daemon thread renews it. The methods may be called from any thread."""

    def __init__(self, store: Store, request: Request, token: int, deadline: float, doubted: Optional[float] = None) -> None:
        self.request, self.token = request, token
        self.name, self.namespace, self.nonce, self.kind = request.name, request.namespace, request.nonce, store.kind
        self.deadline = deadline  # the time on clock() until which the lease is trusted, unless a renewal moves it
        self._store, self._doubted = store, doubted
        self._lost = ""
        self._stop = threading.Event()
        self._released = False
        self._heart = threading.Thread(target=self._beat, name=f"rowlock {request.name}", daemon=True)
        self._heart.start()

    def left(self) -> float:
        """Returns for how many seconds the lease is still trusted, or 0."""
        left = self.deadline - clock()
        if left <= 0 and not self._lost:
            self._lost = "it was not renewed in time"  # no renewal clears it
        return 0.0 if self._lost else left

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
        freed, problem = False, None
        try:
            freed = self._store.release(self.request, self.token, self.request.limit)
        except (Unknown, Unavailable) as e:
            problem, self._doubted = e, clock()
        _part(self._store, self.request, self._doubted)
        if held and problem:
            raise problem
        if not held or not freed:
            raise Lost(f"{self.name!r}: {self._lost or 'the store no longer has the lease'}") from problem

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
                trust = self._store.renew(self.request, self.token, min(5.0, max(left / 3, ttl / 10)))
            except Lost:
                self._lost = self._lost or "the store no longer has the lease"
            except (Unknown, Unavailable):
                continue
            else:
                if self.left() > 0:  # a late reply revives nothing
                    self.deadline, pause = sent + trust, ttl / 3


def _part(store: Store, r: Request, doubted: Optional[float]) -> None:
    """Closes the store. If the effect of a request is unknown, which was sent at the time doubted, a thread first
    releases what that request may have left."""

    def work(since: float) -> None:
        limit, pause = r.limit, 0.05
        while clock() - since < r.ttl + r.handover_delay + limit:
            with contextlib.suppress(Unknown, Unavailable):
                store.release(r, 0, limit)
                if clock() - since > 2 * limit:  # no request of this nonce can arrive any longer
                    break
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        store.close()

    if doubted is None:
        store.close()
    else:
        threading.Thread(target=work, args=[doubted], name=f"rowlock release {r.name}", daemon=True).start()


def lock(url: str, name: str, ttl: float = 30.0, wait: Optional[float] = None, *, namespace: str = "", note: str = "") -> Lease:
    """Acquires the lock and returns its lease, for use in a with statement.

    url is the address of the store. The lease has a connection of its own. wait is for how many seconds to wait for
    other holders; None waits without a limit, and 0 makes one attempt. Raises Held, or Unavailable if the store did not
    answer in time."""
    return acquire(Store(url), Request(name, ttl, namespace, note=note), wait)


def acquire(store: Store, r: Request, wait: Optional[float] = None) -> Lease:
    """Acquires r through store, which then belongs to the lease. See lock."""
    started = answered = clock()
    outage = 2 * r.limit if wait == 0 else min(max(r.ttl, 2 * r.limit), 60.0)
    waiting = False
    doubted: Optional[float] = None  # when the last request was sent whose effect is unknown
    try:
        while True:
            sent, before = clock(), doubted
            doubted = sent  # until the outcome is known, also if an exception such as KeyboardInterrupt ends the request
            try:
                token = store.acquire(r, r.limit, waiting)
                if clock() < sent + r.trust:
                    if waiting:
                        store.leave(r)
                    return Lease(store, r, token, sent + r.trust, before)
                raise Unknown("the grant came too late")
            except Held as held:
                doubted, answered = before, clock()
                left = outage if wait is None else started + wait - answered
                if left <= 0:
                    raise
                if waiting:
                    store.rest(held, left)
                waiting = True  # the first request of the queue is sent at once, because the lock may be free by now
            except (Unknown, Unavailable) as e:
                if isinstance(e, Unavailable):
                    doubted = before
                if getattr(e, "permanent", False):
                    raise
                if clock() - answered >= outage:
                    raise Unavailable(str(e)) from e
                time.sleep(random.uniform(0.01, 0.2))
    except BaseException:
        if waiting:
            store.leave(r)
        _part(store, r, doubted)
        raise
