"""Requests to a store: what all databases have in common. The modules postgres and mysql contain what differs."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import re
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence, Tuple

from .errors import Held, Lost, Unavailable, Unknown


def clock() -> float:
    """Returns the seconds on a clock that is never set. If possible, it also counts while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass
class Request:
    """Is one acquisition. All its requests have the same nonce. Durations are in seconds."""

    name: str
    ttl: float
    namespace: str = ""
    holder: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    note: str = ""
    min_hold: float = 0.0
    handover_delay: float = 0.0
    nonce: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        for text, least, most in (self.name, 1, 512), (self.namespace, 0, 128):
            if not least <= len(text.encode()) <= most or "\0" in text:
                raise ValueError(f"{text!r}: want {least} to {most} bytes of UTF-8 without NUL")
        if not 0.05 <= self.ttl <= 7 * 86400:
            raise ValueError(f"ttl of {self.ttl} s: want 0.05 s to 7 days")

    @property
    def limit(self) -> float:
        """How long one request may take."""
        return min(max(self.ttl / 6, 1.0), 5.0)

    @property
    def trust(self) -> float:
        """For how long a grant is trusted: the TTL less a tenth for the difference in speed of two clocks."""
        return self.ttl * 0.9


def statements(folder: str, parameters: dict[str, str]) -> dict[str, str]:
    """Returns statements of a folder. The names of their parameters replace $1 or the first ?, and so on."""
    found = {}
    for name, names in parameters.items():
        text = (Path(__file__).parent / "sql" / folder / f"{name}.sql").read_text(encoding="utf-8")
        text = re.sub(r"(?m)^\s*--.*$", "", text).replace("%", "%%")
        for n, parameter in enumerate(names.split(), 1):
            text = text.replace("?", f"%({parameter})s", 1)
            text = re.sub(rf"\${n}\b", f"%({parameter})s", text)
        found[name] = text
    return found


@contextlib.contextmanager
def bounded(fileno: int, seconds: float) -> Iterator[None]:
    """Shuts down the socket after this time, so that a blocked statement fails."""

    def shut() -> None:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fileno)) as s:
            s.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(seconds, 0.001), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # the socket must not be shut down after a later statement has begun


class Store:
    """Sends requests on one connection of its own. Each method makes one attempt, which takes at most limit seconds, and
    a second more if it has to connect. One thread at a time may call a store."""

    def __init__(self, url: str) -> None:
        self._url, self._db = url, database(url.partition("://")[0])
        self._conn: Any = None
        self.kind: str = self._db.KIND  # the first word of the token domain
        self._waiter = str(uuid.uuid4())  # the id of this process in the queue of a lock

    def acquire(self, r: Request, limit: float, waiting: bool = False) -> int:
        """Returns the token of the grant. A process that waits joins the queue. Raises Held, Unknown or Unavailable."""
        run = self._runner(self._values(r), limit)
        for look in range(8):
            row = self._db.ask(run, waiting, self._waiter)
            if row is None:
                raise Unavailable("the table rowlock_lease_meta has no row: migrate the database", permanent=True)
            verdict, token, holder, note, since_us, free_in_us = row[:6]
            if verdict == "granted":
                return int(token)
            if verdict == "epoch":
                run("adopt_epoch")
            elif verdict == "ttl":
                run("raise_longest_ttl")
            elif verdict == "contended" and look < 2:
                time.sleep(random.uniform(0.001, 0.003))
            else:
                verdict = "paused" if verdict == "leased" and free_in_us > 50 * 365 * 86400 * 1e6 else verdict
                raise Held(verdict, token, holder, note, since_us / 1e6, free_in_us / 1e6)
        raise Unavailable("the epoch of the lock table keeps changing: are there two primaries?")

    def renew(self, r: Request, token: int, limit: float) -> float:
        """Returns for how long the grant is trusted, counted from before the call. Raises Lost, Unknown or Unavailable."""
        (outcome,) = self.renew_all([(r, token)], limit)
        if outcome == "lost":
            raise Lost(f"{r.name!r}: the store no longer has the lease")
        if outcome == "unknown":
            raise Unknown(f"{r.name!r}: another transaction has locked the row")
        return r.trust

    def renew_all(self, grants: Sequence[Tuple[Request, int]], limit: float) -> list[str]:
        """Returns "renewed", "lost" or "unknown" for each pair of a request and its token."""
        rows = [{**self._values(r), "n": n, "token": token} for n, (r, token) in enumerate(grants)]
        run = self._runner({"grants": json.dumps(rows, ensure_ascii=False)}, limit)
        outcomes = dict(self._db.renew(run, len(rows)))
        return [outcomes.get(n, "unknown") for n in range(len(rows))]

    def release(self, r: Request, token: int, limit: float) -> bool:
        """Ends the grant, or with token 0 any grant of the nonce. Returns false if the store does not have it."""
        run = self._runner({**self._values(r), "token": token, "tick": None}, limit)
        while (done := run("release")).rowcount < 1:
            (verdict,) = run("released_before").fetchone() or ("not held",)
            if verdict != "again":
                return bool(verdict == "released")
            time.sleep(random.uniform(0.001, 0.01))
        self._db.wake(run, done)
        return True

    def leave(self, r: Request) -> None:
        """Leaves the queue. If that fails, releases ignore this process after a few seconds."""
        with contextlib.suppress(Unknown, Unavailable):
            self._runner(self._values(r), 1.0)("leave")

    def rest(self, held: Held, longest: float) -> None:
        """Sleeps until the next poll, or until a notification arrives."""
        try:
            self._db.rest(self._conn, held.since, min(max(held.free_in, 0.005), longest))
        except (self._db.Error, OSError):
            self.close()

    def close(self) -> None:
        """Closes the connection. A later call opens another one."""
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(Exception):
                conn.close()

    def _values(self, r: Request) -> dict[str, Any]:
        """Returns the values of the parameters, by their names in the modules of the databases. Durations are in
        microseconds."""
        texts = {"namespace": r.namespace, "name": r.name, "holder": r.holder, "note": r.note}
        ttl, min_hold, delay = (round(s * 1e6) for s in (r.ttl, r.min_hold, r.handover_delay))
        values = {name: self._db.text(text) for name, text in texts.items()}
        values.update(nonce=r.nonce, waiter=self._waiter, ttl=ttl, min_hold=min_hold, handover_delay=delay)
        values.update(expiry=ttl + delay, longest=max(ttl + delay, min_hold))
        values.update(waiters=json.dumps([{**values, "id": self._waiter}], ensure_ascii=False))
        return values

    def _runner(self, values: dict[str, Any], limit: float) -> Callable[..., Any]:
        """Returns a function that runs a statement with these values and others, in a transaction of its own, until the
        limit is over. It returns the cursor, or None if the statement grants nothing because another transaction has
        locked or changed the row."""
        end = clock() + limit
        return lambda statement, **more: self._run(statement, {**values, **more}, end)

    def _run(self, statement: str, values: dict[str, Any], end: float) -> Any:
        db = self._db
        while True:
            if clock() >= end:
                raise Unavailable(f"{statement}: no time was left to send the request")
            try:
                self._conn = self._conn or db.connect(self._url, end - clock())
            except (db.Error, OSError) as e:
                raise Unavailable(f"connect: {_line(e)}") from e
            try:
                with bounded(db.fileno(self._conn), end - clock()):
                    return db.execute(self._conn, statement, values)
            except (db.Error, OSError) as e:
                code, message = db.code(e), f"{statement}: {_line(e)}"
                if re.fullmatch(db.UNKNOWN, code):
                    self.close()
                    raise Unknown(message) from e
                transient = re.fullmatch(db.TRANSIENT, code)
                if transient and statement in ("acquire", "insert"):
                    return None
                if not transient or clock() > end:
                    raise Unavailable(message, permanent=bool(re.fullmatch(db.PERMANENT, code))) from e
            time.sleep(random.uniform(0.001, 0.01))


def _line(e: Exception) -> str:
    """Returns the text of the error in one line."""
    return " ".join(str(e).split())


MODULES = {"postgres": "postgres", "postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}


def database(scheme: str) -> Any:
    """Returns the module for addresses that begin with this scheme."""
    if scheme not in MODULES:
        raise ValueError(f"the address begins with {scheme!r}: want postgresql://, mysql:// or mariadb://")
    return importlib.import_module(f"{__package__}.{MODULES[scheme]}")
