"""Locks and fences in PostgreSQL, by version 1 of rowlock's protocol (docs/protocol.md).

    with rowlock.lock("postgresql://db/app", "nightly", ttl=30) as lease:
        ...
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence, Union

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

__all__ = ["Error", "Fence", "Held", "Lease", "Lost", "Request", "Stale", "Store", "Unavailable", "Unknown", "clock", "from_environment", "lock"]


class Error(Exception):
    """Is the base class of the four outcomes other than success."""


class Held(Error):
    """Another holder has the lock, or the lock is not free for another reason. Durations are in seconds."""

    def __init__(self, reason: str, token: int, holder: str, note: str, since: float, free_in: float) -> None:
        super().__init__(f"{reason}: holder {holder!r}, token {token}, free in {free_in:.3f} s")
        self.reason, self.token, self.holder, self.note, self.since, self.free_in = reason, token, holder, note, since, free_in


class Lost(Error):
    """The lease has ended: it may belong to another holder now."""


class Stale(Lost):
    """Another lease was the last to seal the resource, or no lease has sealed it."""


class Unknown(Error):
    """No reply came: the request may have had an effect, or may still have one."""


class Unavailable(Error):
    """The request had no effect. If permanent is true, a retry cannot help."""

    def __init__(self, message: str, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


if hasattr(time, "CLOCK_BOOTTIME"):

    def clock() -> float:
        """Returns the seconds on a clock that is never set, and that also counts while the machine is suspended."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    clock = time.monotonic


def _statement(path: Path) -> str:
    """Returns the statement with psycopg's placeholders: $1 becomes %(p1)s."""
    text = re.sub(r"(?m)^\s*--.*$", "", path.read_text(encoding="utf-8"))
    return re.sub(r"\$(\d+)", r"%(p\1)s", text.replace("%", "%%"))


_SQL = {path.stem: _statement(path) for path in (Path(__file__).parent / "sql").glob("*.sql")}

# SQLSTATEs after which the server has undone the statement, and a retry may succeed.
_TRANSIENT = {"40001", "40P01", "55P03"}
# SQLSTATEs that a retry cannot fix: a missing table, a missing privilege, a read-only server, an encoding.
_PERMANENT = {"42P01", "42703", "42883", "3F000", "42501", "25006", "55000", "22P05", "22021"}
# Classes of SQLSTATEs after which the statement may have had an effect.
_UNCERTAIN = {"08", "57", "58", "F0", "XX"}


def _named(args: list[Any]) -> dict[str, Any]:
    return {f"p{n}": arg for n, arg in enumerate(args, 1)}


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def _call_limit(ttl: float) -> float:
    """Returns how long one request may take."""
    return min(max(ttl / 6, 1.0), 5.0)


@contextlib.contextmanager
def _bounded(conn: psycopg.Connection[Any], seconds: float) -> Iterator[None]:
    """Shuts down the connection's socket after this time, so that a blocked statement fails."""

    def shut() -> None:
        with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(conn.fileno())) as s:
            s.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(seconds, 0.001), shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # the socket must not be shut down after a later statement has begun


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


class Store:
    """Sends the statements of the protocol on one connection of its own. Each method makes one attempt. It takes at
    most limit seconds, and a second more if it has to connect. One thread at a time may call it."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._conn: Optional[psycopg.Connection[Any]] = None
        self._waiter = str(uuid.uuid4())  # the id of the waiter's row, and its channel
        self._listening = False

    def acquire(self, r: Request, limit: float, waiting: bool = False) -> int:
        """Returns the token of the grant. Raises Held, Unknown or Unavailable."""
        args = [r.namespace, r.name, r.nonce, r.holder, r.note, _us(r.ttl), _us(r.min_hold), _us(r.handover_delay)]
        statement = "acquire"
        if waiting:
            statement, args = "acquire_waiting", [*args, self._waiter, 0, self._waiter]
        end = clock() + limit
        for look in range(8):
            try:
                rows = self._run(statement, args, end, retried=_TRANSIENT - {"55P03"})
            except _Locked:
                rows = [("contended", 0, "", "", 0, 0)]
            if not rows:
                raise Unavailable("the table rowlock_lease_meta has no row: migrate the database", permanent=True)
            verdict, token, holder, note, since_us, free_in_us = rows[0][:6]
            if verdict == "granted":
                return int(token)
            if verdict == "epoch":
                self._run("adopt_epoch", [], end)
            elif verdict == "ttl":
                self._run("raise_longest_ttl", [max(_us(r.ttl) + _us(r.handover_delay), _us(r.min_hold))], end)
            elif verdict == "contended" and look < 2:
                time.sleep(random.uniform(0.001, 0.003))
            else:
                verdict = "paused" if verdict == "leased" and free_in_us > 50 * 365 * 86400 * 1e6 else verdict
                raise Held(verdict, token, holder, note, since_us / 1e6, free_in_us / 1e6)
        raise Unavailable("the epoch of the lock table keeps changing: are there two primaries?")

    def renew(self, grants: Sequence[tuple[Request, int]], limit: float) -> list[str]:
        """Returns "renewed", "lost" or "unknown" for each pair of a request and its token."""
        batch = [
            {"n": n, "namespace": r.namespace, "name": r.name, "nonce": r.nonce, "token": str(token),
             "ttl": _us(r.ttl), "min_hold": _us(r.min_hold), "handover_delay": _us(r.handover_delay)}
            for n, (r, token) in enumerate(grants)
        ]
        outcomes = ["unknown"] * len(batch)
        for n, outcome in self._run("renew", [json.dumps(batch, ensure_ascii=False)], clock() + limit):
            outcomes[n] = outcome
        return outcomes

    def release(self, r: Request, token: int, limit: float) -> bool:
        """Ends the grant, or with token 0 any grant of the nonce. Returns false if the store does not have it."""
        end = clock() + limit
        while not self._run("release", [r.namespace, r.name, r.nonce, token, _us(r.min_hold), None], end):
            verdict = self._run("released_before", [r.namespace, r.name, r.nonce, token], end)[0][0]
            if verdict != "again":
                return bool(verdict == "released")
        return True

    def wait(self, r: Request, first: bool, limit: float) -> None:
        """Writes or refreshes the waiter's row, so that a release reserves the lock for this process and notifies it."""
        end = clock() + limit
        if not self._listening:
            self._run(f'LISTEN "{self._waiter}"', [], end)
            self._listening = True
        self._run("wait", [self._row(r), self._waiter, int(first)], end)

    def sleep(self, seconds: float) -> None:
        """Sleeps until a notification arrives, and for at most this time."""
        if self._conn is None:
            time.sleep(seconds)
            return
        with contextlib.suppress(OSError, ValueError, psycopg.Error):
            select.select([self._conn.fileno()], [], [], seconds)
            self._conn.pgconn.consume_input()
            while self._conn.pgconn.notifies():
                pass

    def leave(self, r: Request, limit: float) -> None:
        """Deletes the waiter's row."""
        self._run("leave", [self._row(r)], clock() + limit)

    def close(self) -> None:
        """Closes the connection. A later call opens another one."""
        conn, self._conn, self._listening = self._conn, None, False
        if conn is not None:
            with contextlib.suppress(psycopg.Error):
                conn.close()

    def _row(self, r: Request) -> str:
        return json.dumps([{"namespace": r.namespace, "name": r.name, "id": self._waiter}], ensure_ascii=False)

    def _run(self, statement: str, args: list[Any], end: float, retried: set[str] = _TRANSIENT) -> list[Any]:
        """Runs a statement of its own transaction until clock() is end, and returns its rows."""
        while True:
            conn = self._connected(end)
            try:
                with _bounded(conn, end - clock()):
                    cur = conn.execute(_SQL.get(statement, statement), _named(args))
                    return cur.fetchall() if cur.description else []
            except psycopg.Error as e:
                state = e.sqlstate or ""
                message = f"{statement}: {str(e).strip()}"
                if state in retried and clock() < end:
                    time.sleep(random.uniform(0.001, 0.01))
                    continue
                if not state or state[:2] in _UNCERTAIN:
                    self.close()
                    raise Unknown(message) from e
                if state == "55P03":
                    raise _Locked(message) from e
                raise Unavailable(message, permanent=state in _PERMANENT) from e

    def _connected(self, end: float) -> psycopg.Connection[Any]:
        if self._conn is not None and self._conn.closed:
            self.close()
        left = end - clock()
        if left <= 0:
            raise Unavailable("no time was left to send the request")
        if self._conn is None:
            try:  # statements are not prepared, because some poolers mix prepared statements up
                self._conn = psycopg.connect(
                    self._dsn, autocommit=True, prepare_threshold=None, connect_timeout=max(1, int(left)))
            except psycopg.Error as e:
                raise Unavailable(f"connect: {str(e).strip()}") from e
        return self._conn


class _Locked(Unavailable):
    """A lock_timeout of the statement has expired. The statement had no effect."""


class Lease:
    """Is a lock that this process holds. A daemon thread renews it. The methods may be called from any thread."""

    kind = "sqllock/postgres"  # the kind of the store, which is the first word of the token domain

    def __init__(self, store: Store, request: Request, token: int, sent: float, doubted: Optional[float]) -> None:
        self.request, self.token = request, token
        self._store, self._doubted = store, doubted
        self._deadline = self._deadline_from(sent)
        self._guard = threading.Lock()  # of _deadline and _lost
        self._lost = ""
        self._stop = threading.Event()
        self._released = False
        self._heart = threading.Thread(target=self._beat, name=f"rowlock {request.name}", daemon=True)

    def start(self) -> Lease:
        """Starts the renewals."""
        self._heart.start()
        return self

    def _deadline_from(self, sent: float) -> float:
        """Returns when trust ends: the TTL after the request was sent, less a tenth for the speed of the clocks."""
        return sent + self.request.ttl * 0.9

    @property
    def name(self) -> str:
        return self.request.name

    @property
    def nonce(self) -> str:
        return self.request.nonce

    @property
    def namespace(self) -> str:
        return self.request.namespace

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
        held, end, doubt = self.left() > 0, clock() + _call_limit(self.request.ttl), False
        self._released = True
        while True:
            try:
                freed = self._store.release(self.request, self.token, end - clock())
                break
            except (Unknown, Unavailable) as e:
                doubt = doubt or isinstance(e, Unknown)
                if clock() + 0.1 > end or getattr(e, "permanent", False):
                    _resolve(self._store, self.request, clock())
                    if held:
                        raise
                    raise Lost(f"{self.name!r}: {self._lost}") from e
                time.sleep(0.05)
        if self._doubted is not None:
            _resolve(self._store, self.request, self._doubted)
        else:
            self._store.close()
        if held and doubt and not freed:
            raise Unknown(f"{self.name!r}: a request without a reply may have released the lease, or the lease was lost")
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
        limit, pause = _call_limit(r.ttl), 0.05
        while clock() - since < r.ttl + r.handover_delay + limit:
            with contextlib.suppress(Unknown, Unavailable):
                store.release(r, 0, limit)
                if clock() - since > 2 * limit:  # no request of this nonce can arrive any longer
                    break
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        store.close()

    threading.Thread(target=work, name=f"rowlock release {r.name}", daemon=True).start()


def lock(
    conn: Union[str, psycopg.Connection[Any]], name: str, ttl: float = 30.0, wait: Optional[float] = None, *,
    namespace: str = "", holder: Optional[str] = None, note: str = "",
) -> Lease:
    """Acquires the lock and returns its lease, for use in a with statement.

    conn is a connection string, or a connection, of which only the parameters are used: the lease has a connection of
    its own. wait is for how many seconds to wait for other holders; None waits without a limit, and 0 makes one
    attempt. Raises Held, or Unavailable if the store did not answer in time."""
    if not isinstance(conn, str):
        conn = make_conninfo(**{**conn.info.get_parameters(), "password": conn.info.password or None})
    request = Request(name, ttl, namespace, note=note)
    if holder is not None:
        request.holder = holder
    return acquire(Store(conn), request, wait)


def acquire(store: Store, r: Request, wait: Optional[float] = None) -> Lease:
    """Acquires r through store, which then belongs to the lease. See lock."""
    limit, started = _call_limit(r.ttl), clock()
    outage = 2 * limit if wait == 0 else min(max(r.ttl, 2 * limit), 60.0)
    answered = started
    doubted: Optional[float] = None  # when the last request was sent whose effect is unknown
    listed: Optional[float] = None  # when the waiter's row was last written
    try:
        while True:
            sent, before, problem = clock(), doubted, None
            doubted = sent  # until the outcome is known, also if an exception such as KeyboardInterrupt ends the request
            try:
                token = store.acquire(r, limit, waiting=listed is not None)
                lease = Lease(store, r, token, sent, before)
                if lease.left() > 0:
                    if listed is not None:
                        _leave(store, r)
                    return lease.start()
                problem, pause = Unknown("the grant came too late"), 0.0
            except Held as held:
                doubted, answered = before, clock()
                left = outage if wait is None else started + wait - clock()
                if left <= 0:
                    raise
                pause = min(random.uniform(0.5, 1.0), max(held.free_in, 0.005), left)
            except Unavailable as e:
                doubted, problem, pause = before, e, random.uniform(0.01, 0.2)
                if e.permanent:
                    raise
            except Unknown as e:
                problem, pause = e, random.uniform(0.01, 0.2)
            if problem is not None and clock() - answered >= outage:
                raise Unavailable(str(problem)) from problem
            if problem is None and (listed is None or clock() - listed > 1):
                with contextlib.suppress(Unknown, Unavailable):
                    store.wait(r, first=listed is None, limit=limit)
                    if listed is None:
                        pause = 0.0  # the lock may have become free before the row was written
                    listed = clock()
            store.sleep(pause)
    except BaseException:
        if listed is not None:
            _leave(store, r)
        if doubted is not None:
            _resolve(store, r, doubted)
        else:
            store.close()
        raise


def _leave(store: Store, r: Request) -> None:
    with contextlib.suppress(Unknown, Unavailable):  # releases ignore the row after 3 s
        store.leave(r, 1.0)


class _Keeper:
    """Takes the place of Store in the child of "rowlock run". The parent renews the lease and answers for how long to
    trust it."""

    def __init__(self, path: str, ttl: float) -> None:
        self.trust = ttl  # from before the last request that was answered
        self._last = 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_call_limit(ttl))
        self._socket.connect(path)
        self._lines = self._socket.makefile("rb")

    def renew(self, grants: Sequence[tuple[Request, int]], limit: float) -> list[str]:
        self._last += 1
        self._socket.settimeout(limit)
        try:
            self._socket.sendall(json.dumps({"id": self._last, "nonce": grants[0][0].nonce}).encode() + b"\n")
            answer = {"id": -1}
            while answer["id"] != self._last:  # answers to earlier requests say nothing about this one
                line = self._lines.readline()
                if not line:
                    return ["lost"]
                answer = json.loads(line)
        except socket.timeout as e:  # a file that has timed out cannot be read any longer
            self._lines = self._socket.makefile("rb")
            raise Unknown("the process that holds the lock did not answer") from e
        except (OSError, ValueError):
            return ["lost"]
        if answer.get("trust_us", 0) <= 0:
            raise Unknown(f"the process that holds the lock did not renew it: {answer.get('error')}")
        self.trust = answer["trust_us"] / 1e6
        return ["renewed"]

    def release(self, r: Request, token: int, limit: float) -> bool:
        """Ends only the child's trust. The parent releases the lock."""
        return True

    def close(self) -> None:
        self._socket.close()


class _Inherited(Lease):
    _store: _Keeper

    def _deadline_from(self, sent: float) -> float:
        return sent + self._store.trust


def from_environment() -> Lease:
    """Returns the lease of the parent, "rowlock run", from ROWLOCK_LEASE. A release ends only this process's trust."""
    try:
        text = json.loads(os.environ["ROWLOCK_LEASE"])
    except KeyError:
        raise Unavailable("ROWLOCK_LEASE is not set: start the program with rowlock run", permanent=True) from None
    if text["version"] != 1 or text.get("shared"):
        raise Unavailable("ROWLOCK_LEASE describes a lease that this client does not understand", permanent=True)
    r = Request(text["name"], text["ttl_us"] / 1e6, text["namespace"], nonce=text["nonce"])
    sent = clock()
    try:
        keeper = _Keeper(text["keeper"], r.ttl)
        lost = keeper.renew([(r, 0)], _call_limit(r.ttl)) == ["lost"]
    except OSError:
        lost = True
    if lost:
        raise Lost(f"{r.name!r}: the process that holds the lock has ended, or no longer holds it")
    lease = _Inherited(keeper, r, int(text["token"]), sent, None)  # type: ignore[arg-type]
    lease.kind = text["domain"]
    return lease.start()


class Fence:
    """Rejects the lease in the transactions of another database, once a newer lease has sealed. Resources are names of
    data that must be written in order. Errors of the given connection itself are errors of psycopg."""

    def __init__(self, lease: Lease) -> None:
        self._lease, self._domain = lease, f"{lease.kind} {lease.name}"

    def seal(self, cur: psycopg.Cursor[Any], *resources: str) -> None:
        """Makes the lease the newest holder of the resources, in a transaction of its own. Call it once, before the
        first read. It waits for the transactions that older leases have checked. Raises Stale or Lost."""
        conn = cur.connection
        if self._lease.token <= 0:
            raise ValueError("the store of the lock grants no tokens")
        if conn.info.transaction_status != TransactionStatus.IDLE:
            raise ValueError("seal needs a connection without an open transaction")
        while True:
            self._lease.check()
            left = self._lease.left()
            try:
                with _bounded(conn, left), conn.transaction(), conn.cursor(row_factory=tuple_row) as own:
                    own.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                    self._query(own, "fence_bound", [max(1, int(left * 900))])
                    for resource in sorted(set(resources)):
                        self._raise(own, resource)
                return
            except psycopg.Error as e:
                self._lease.check()
                if e.sqlstate not in _TRANSIENT:
                    raise
            time.sleep(random.uniform(0.002, 0.1))

    def check(self, cur: psycopg.Cursor[Any], *resources: str) -> None:
        """Makes sure that no newer lease seals the resources before the open transaction of cur ends. Call it before
        the first read of each transaction. After an error, roll back. Raises Stale or Lost. Raises psycopg's
        SerializationFailure if the transaction has to run again, because another lease is sealing."""
        conn = cur.connection
        self._lease.check()
        with _bounded(conn, self._lease.left()), conn.cursor(row_factory=tuple_row) as own:
            for resource in sorted(set(resources)):
                trust = max(1, int(self._lease.left() * 1000))
                rows = self._query(own, "fence_check", [self._lease.namespace, resource, trust, self._lease.nonce, 0])
                if not rows:
                    rows = self._query(own, "fence_read", [self._lease.namespace, resource])
                    if rows and rows[0][1] == self._lease.nonce:
                        raise psycopg.errors.SerializationFailure("a newer lease waits to seal until earlier transactions end")
                self._compare(resource, rows)
        if conn.info.transaction_status != TransactionStatus.INTRANS:
            raise ValueError("no transaction is open, so nothing keeps the lock on the mark: begin one before the check")

    def _raise(self, own: psycopg.Cursor[Any], resource: str) -> None:
        key = [self._lease.namespace, resource]
        rows = self._query(own, "fence_read", key)
        if rows and rows[0][1] == self._lease.nonce:
            return  # a second seal must not wait for the lease's own transactions
        if not rows or rows[0][0] < self._lease.token and rows[0][2] in ("", self._domain):
            self._query(own, "fence_raise", [*key, self._lease.token, self._lease.nonce, self._domain])
            rows = self._query(own, "fence_read", key)
        self._compare(resource, rows)

    def _compare(self, resource: str, rows: list[Any]) -> None:
        if not rows:
            raise Stale(f"{resource!r} was never sealed: call seal once, after the lock was acquired")
        token, nonce = rows[0][:2]
        if nonce != self._lease.nonce:
            raise Stale(f"{resource!r}: the lease has token {self._lease.token}, but the mark has token {token}")

    @staticmethod
    def _query(own: psycopg.Cursor[Any], statement: str, args: list[Any]) -> list[Any]:
        own.execute(_SQL[statement], _named(args), prepare=False)
        return own.fetchall() if own.description else []
