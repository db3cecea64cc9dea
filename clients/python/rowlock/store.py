"""The requests of docs/protocol.md. The modules postgres and mysql contain what differs between the databases."""

from __future__ import annotations

import contextlib
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
from typing import Any, Dict, Iterator, Sequence, Tuple

from .errors import Held, Unavailable, Unknown

if hasattr(time, "CLOCK_BOOTTIME"):

    def clock() -> float:
        """Returns the seconds on a clock that is never set, and that also counts while the machine is suspended."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    clock = time.monotonic


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


def statements(*folders: str) -> Dict[str, str]:
    """Returns the statements of the folders without comments, by name. A later folder replaces statements."""
    files = [f for folder in folders for f in (Path(__file__).parent / "sql" / folder).glob("*.sql")]
    return {f.stem: re.sub(r"(?m)^\s*--.*$", "", f.read_text(encoding="utf-8")).replace("%", "%%") for f in files}


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


class Refused(Exception):
    """Is an error of the database with its code, or with an empty code if the connection failed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Store:
    """Sends requests on one connection of its own. Each method makes one attempt, which takes at most limit seconds, and
    a second more if it has to connect. One thread at a time may call a store.

    A subclass is a table of statements for one kind of database: it has the names of the parameters of each statement,
    and the codes of errors."""

    kind: str  # the first word of the token domain
    sql: Dict[str, str]
    parameters: Dict[str, str]
    transient: Sequence[str]  # the server has undone the statement, and a retry may succeed
    permanent: Sequence[str]  # a retry cannot help
    contended: Dict[str, Sequence[str]] = {}  # another transaction has locked the row

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiter = str(uuid.uuid4())  # the id of this process in the queue of a lock
        self._conn: Any = None

    def trust(self, r: Request) -> float:
        """Returns for how long a grant is trusted: the TTL less a tenth for the difference in speed of two clocks."""
        return r.ttl * 0.9

    def acquire(self, r: Request, limit: float, waiting: bool = False) -> int:
        """Returns the token of the grant. A process that waits joins the queue. Raises Held, Unknown or Unavailable."""
        end, values = clock() + limit, self._values(r)
        for look in range(8):
            verdict, token, holder, note, since_us, free_in_us = self._ask(values, waiting, end)
            if verdict == "granted":
                return token
            if verdict == "epoch":
                self._run("adopt_epoch", values, end)
            elif verdict == "ttl":
                self._run("raise_longest_ttl", values, end)
            elif verdict == "contended" and look < 2:
                time.sleep(random.uniform(0.001, 0.003))
            else:
                verdict = "paused" if verdict == "leased" and free_in_us > 50 * 365 * 86400 * 1e6 else verdict
                raise Held(verdict, token, holder, note, since_us / 1e6, free_in_us / 1e6)
        raise Unavailable("the epoch of the lock table keeps changing: are there two primaries?")

    def renew(self, grants: Sequence[Tuple[Request, int]], limit: float) -> list[str]:
        """Returns "renewed", "lost" or "unknown" for each pair of a request and its token."""
        batch, outcomes = [], ["unknown"] * len(grants)
        for n, (r, token) in enumerate(grants):
            v = self._values(r)
            batch.append({"n": n, "token": str(token), **{k: v[k] for k in ("namespace", "name", "nonce", "ttl", "min_hold", "handover_delay")}})
        for n, outcome in self._renew(json.dumps(batch, ensure_ascii=False), clock() + limit):
            outcomes[n] = outcome
        return outcomes

    def release(self, r: Request, token: int, limit: float) -> bool:
        """Ends the grant, or with token 0 any grant of the nonce. Returns false if the store does not have it."""
        end, values = clock() + limit, {**self._values(r), "token": token, "tick": None}
        while self._run("release", values, end).rowcount < 1:
            (verdict,) = self._run("released_before", values, end).fetchone() or ("not held",)
            if verdict != "again":
                return bool(verdict == "released")
            time.sleep(random.uniform(0.001, 0.01))
        return True

    def leave(self, r: Request, limit: float) -> None:
        """Leaves the queue."""
        self._run("leave", self._values(r), clock() + limit)

    def rest(self, held: Held, longest: float) -> None:
        """Sleeps until the next poll, or until a notification arrives."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the connection. A later call opens another one."""
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(Exception):
                conn.close()

    def _values(self, r: Request) -> Dict[str, Any]:
        """Returns the values of the parameters. Durations are in microseconds."""
        ttl, min_hold, delay = (round(s * 1e6) for s in (r.ttl, r.min_hold, r.handover_delay))
        return {
            "namespace": r.namespace, "name": r.name, "nonce": r.nonce, "holder": r.holder, "note": r.note, "ttl": ttl, "min_hold": min_hold,
            "handover_delay": delay, "expiry": ttl + delay, "longest": max(ttl + delay, min_hold), "waiter": self._waiter,
        }

    def _run(self, statement: str, values: Dict[str, Any], end: float) -> Any:
        """Runs a statement of its own transaction until clock() is end, and returns its cursor. Returns None if another
        transaction has locked the row, and the statement must not be repeated."""
        while True:
            if clock() >= end:
                raise Unavailable(f"{statement}: no time was left to send the request")
            try:
                self._conn = self._conn or self._connect(end - clock())
            except Refused as e:
                raise Unavailable(f"connect: {e}") from e
            try:
                return self._execute(statement, [values[name] for name in self.parameters[statement].split()], end - clock())
            except Refused as e:
                message = f"{statement}: {e}"
                if not e.code or self._uncertain(e.code):
                    self.close()
                    raise Unknown(message) from e
                if e.code in self.contended.get(statement, ()):
                    return None
                if e.code not in self.transient or clock() > end:
                    raise Unavailable(message, permanent=e.code in self.permanent) from e
            time.sleep(random.uniform(0.001, 0.01))

    def _ask(self, values: Dict[str, Any], waiting: bool, end: float) -> Tuple[str, int, str, str, int, int]:
        """Returns verdict, token, holder, note, and the microseconds since the grant and until the lock is free."""
        raise NotImplementedError

    def _renew(self, grants: str, end: float) -> Sequence[Tuple[int, str]]:
        """Returns the number and the outcome of each grant."""
        raise NotImplementedError

    def _connect(self, seconds: float) -> Any:
        raise NotImplementedError

    def _execute(self, statement: str, args: Sequence[Any], seconds: float) -> Any:
        """Executes the statement and returns the cursor. Raises Refused."""
        raise NotImplementedError

    def _uncertain(self, code: str) -> bool:
        """Reports whether the statement may have had an effect after this error."""
        raise NotImplementedError


def open_store(url: str) -> Store:
    """Returns a store for postgresql://, mysql:// or mariadb://."""
    scheme = url.partition("://")[0]
    if scheme in ("postgres", "postgresql"):
        from .postgres import Postgres as Kind
    elif scheme in ("mysql", "mariadb"):
        from .mysql import MySQL as Kind  # type: ignore[assignment]
    else:
        raise ValueError(f"the address begins with {scheme!r}: want postgresql://, mysql:// or mariadb://")
    return Kind(url)
