"""The statements for PostgreSQL, through psycopg."""

from __future__ import annotations

import contextlib
import random
import select
import time
from typing import Any, Callable, Iterator, Sequence, Tuple

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from .store import statements

KIND = "sqllock/postgres"
SQL = {
    **statements("postgres", {
        "acquire": "namespace name nonce holder note ttl min_hold handover_delay waiter waiter",
        "adopt_epoch": "",
        "raise_longest_ttl": "longest",
        "renew": "grants",
        "release": "namespace name nonce token min_hold tick",
        "released_before": "namespace name nonce token",
        "wait": "waiters waiter locked",
        "leave": "waiters",
    }),
    **statements("fence_postgres", {
        "bound": "limit",
        "read": "namespace resource",
        "raise": "namespace resource token nonce domain",
        "check": "namespace resource limit nonce raised",
    }),
}
Error = psycopg.Error
# Patterns for the SQLSTATE, which is empty if the connection failed.
UNKNOWN = "|(08|57|58|F0|XX).*"
TRANSIENT = "40001|40P01|55P03"
PERMANENT = "42P01|42703|42883|3F000|42501|25006|55000|22P05|22021"


def text(name: str) -> str:
    return name


def code(e: Any) -> str:
    return getattr(e, "sqlstate", None) or ""


def connect(url: str, seconds: float) -> Any:
    # Statements are not prepared, because some poolers mix prepared statements up.
    return psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=max(1, int(seconds)))


def fileno(conn: Any) -> int:
    return int(conn.fileno())


def execute(conn: Any, statement: str, values: dict[str, Any]) -> Any:
    return conn.cursor(row_factory=tuple_row).execute(SQL.get(statement, statement), values)


def ask(run: Callable[..., Any], waiting: bool, waiter: str) -> Any:
    if waiting:
        run(f'LISTEN "{waiter}"')
        run("wait", locked=0)
        cur = run("acquire")
    else:
        cur = run("acquire", waiter=None)
    return ("contended", 0, "", "", 0, 0) if cur is None else cur.fetchone()


def renew(run: Callable[..., Any], count: int) -> Any:
    return run("renew").fetchall()


def wake(run: Callable[..., Any], released: Any) -> None:
    """Does nothing, because release.sql has notified the waiters."""


def rest(conn: Any, since: float, longest: float) -> None:
    pause = min(random.uniform(0.5, 1.0), longest)
    if conn is None:
        time.sleep(pause)
        return
    select.select([conn.fileno()], [], [], pause)
    conn.pgconn.consume_input()
    while conn.pgconn.notifies():
        pass


def in_transaction(conn: Any) -> bool:
    return bool(conn.info.transaction_status == TransactionStatus.INTRANS)


@contextlib.contextmanager
def own_transaction(conn: Any, limit: float) -> Iterator[None]:
    with conn.transaction():
        execute(conn, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", {})
        execute(conn, "bound", {"limit": max(1, int(limit * 1000))})
        yield


def check(conn: Any, values: dict[str, Any], trust: float) -> Tuple[Sequence[Any], bool]:
    mark = execute(conn, "check", {**values, "limit": max(1, int(trust * 1000)), "raised": 0}).fetchone()
    return (mark, False) if mark else (execute(conn, "read", values).fetchone(), True)
