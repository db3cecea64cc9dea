"""The statements for PostgreSQL, through psycopg."""

from __future__ import annotations

import contextlib
import json
import random
import re
import select
import time
from typing import Any, Dict, Iterator, Sequence, Tuple

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from .errors import Held, Unavailable
from .store import Refused, Request, Store, bounded, clock, statements


def _sql(folder: str) -> Dict[str, str]:
    """Returns the statements with psycopg's placeholders: $1 becomes %(p1)s."""
    return {name: re.sub(r"\$(\d+)", r"%(p\1)s", text) for name, text in statements(folder).items()}


def _named(args: Sequence[Any]) -> Dict[str, Any]:
    return {f"p{n}": arg for n, arg in enumerate(args, 1)}


class Postgres(Store):
    """Keeps locks in PostgreSQL."""

    kind = "sqllock/postgres"
    sql = _sql("postgres")
    parameters = {
        "acquire": "namespace name nonce holder note ttl min_hold handover_delay",
        "acquire_waiting": "namespace name nonce holder note ttl min_hold handover_delay waiter flags waiter",
        "adopt_epoch": "",
        "raise_longest_ttl": "longest",
        "renew": "grants",
        "release": "namespace name nonce token min_hold tick",
        "released_before": "namespace name nonce token",
        "listen": "",
        "wait": "waiters waiter first",
        "leave": "waiters",
    }
    transient = ("40001", "40P01", "55P03")
    permanent = ("42P01", "42703", "42883", "3F000", "42501", "25006", "55000", "22P05", "22021")
    contended = {"acquire": ("55P03",), "acquire_waiting": ("55P03",)}

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.sql = {**self.sql, "listen": f'LISTEN "{self._waiter}"'}
        self._listening = False
        self._listed = 0.0  # when the row of this process in the queue was last written

    def rest(self, held: Held, longest: float) -> None:
        pause = min(random.uniform(0.5, 1.0), max(held.free_in, 0.005), longest)
        if self._conn is None:
            time.sleep(pause)
            return
        try:
            select.select([self._conn.fileno()], [], [], pause)
            self._conn.pgconn.consume_input()
            while self._conn.pgconn.notifies():
                pass
        except (OSError, psycopg.Error):
            self.close()

    def close(self) -> None:
        super().close()
        self._listening = False

    def _ask(self, values: Dict[str, Any], waiting: bool, end: float) -> Tuple[str, int, str, str, int, int]:
        if waiting and not self._listening:
            self._run("listen", values, end)
            self._listening = True
        if waiting and clock() - self._listed > 1:
            self._run("wait", {**values, "first": int(not self._listed)}, end)
            self._listed = clock()
        cur = self._run("acquire_waiting" if waiting else "acquire", values, end)
        if cur is None:
            return "contended", 0, "", "", 0, 0
        row = cur.fetchone()
        if row is None:
            raise Unavailable("the table rowlock_lease_meta has no row: migrate the database", permanent=True)
        return row[:6]

    def _renew(self, grants: str, end: float) -> Sequence[Tuple[int, str]]:
        return self._run("renew", {"grants": grants}, end).fetchall()

    def _values(self, r: Request) -> Dict[str, Any]:
        row = {"namespace": r.namespace, "name": r.name, "id": self._waiter}
        return {**super()._values(r), "flags": 0, "waiters": json.dumps([row], ensure_ascii=False)}

    def _connect(self, seconds: float) -> Any:
        try:  # statements are not prepared, because some poolers mix prepared statements up
            return psycopg.connect(self._url, autocommit=True, prepare_threshold=None, connect_timeout=max(1, int(seconds)))
        except psycopg.Error as e:
            raise Refused(e.sqlstate or "", str(e).strip()) from e

    def _execute(self, statement: str, args: Sequence[Any], seconds: float) -> Any:
        try:
            with bounded(self._conn.fileno(), seconds):
                return self._conn.execute(self.sql[statement], _named(args))
        except psycopg.Error as e:
            raise Refused(e.sqlstate or "", str(e).strip()) from e

    def _uncertain(self, code: str) -> bool:
        return code[:2] in ("08", "57", "58", "F0", "XX")


class Marks:
    """Are the marks of a fence in the database of a connection."""

    Error = psycopg.Error
    sql = _sql("fence_postgres")

    def __init__(self, conn: Any) -> None:
        self._conn = conn
        self.fileno = conn.fileno

    def in_transaction(self) -> bool:
        return bool(self._conn.info.transaction_status == TransactionStatus.INTRANS)

    def transient(self, e: Any) -> bool:
        return e.sqlstate in Postgres.transient

    @contextlib.contextmanager
    def own_transaction(self, limit: float) -> Iterator[None]:
        with self._conn.transaction():
            self._conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            self._query("bound", max(1, int(limit * 1000)))
            yield

    def read(self, namespace: str, resource: str) -> Sequence[Any]:
        return self._query("read", namespace, resource)

    def lift(self, namespace: str, resource: str, token: int, nonce: str, domain: str) -> None:
        self._query("raise", namespace, resource, token, nonce, domain)

    def check(self, namespace: str, resource: str, nonce: str, trust: float) -> Tuple[Sequence[Any], bool]:
        mark = self._query("check", namespace, resource, max(1, int(trust * 1000)), nonce, 0)
        return (mark, False) if mark else (self.read(namespace, resource), True)

    def _query(self, statement: str, *args: Any) -> Sequence[Any]:
        with self._conn.cursor(row_factory=tuple_row) as cur:
            cur.execute(self.sql[statement], _named(args), prepare=False)
            return (cur.fetchone() or ()) if cur.description else ()
