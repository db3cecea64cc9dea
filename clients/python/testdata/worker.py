"""Increments a counter under a lock until it is killed. The arguments are the address of the database, the name of the
worker, and fenced, unfenced, once, or read-first: once and read-first make one increment, and read-first reads the
counter before it acquires the lock."""

import contextlib
import random
import sys
import time
from pathlib import Path
from typing import Any, Iterator
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

import psycopg
import pymysql

import rowlock

url, name, mode = sys.argv[1:]


def connect() -> Any:
    """Opens a connection to the database, which also has the locks."""
    if url.startswith("postgres"):
        return psycopg.connect(url, autocommit=True)
    at = urlsplit(url)
    return pymysql.connect(host=at.hostname, port=at.port, user=at.username, database=at.path[1:], autocommit=True)


@contextlib.contextmanager
def transaction(conn: Any) -> Iterator[Any]:
    """Runs a transaction and yields its cursor."""
    cur = conn.cursor()
    cur.execute("BEGIN")
    try:
        yield cur
        cur.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(psycopg.Error, pymysql.Error):
            cur.execute("ROLLBACK")
        raise


def increment(conn: Any, lease: rowlock.Lease, fence: rowlock.Fence, known: "int | None" = None) -> None:
    """Reads the counter and writes the next number, in one transaction."""
    with transaction(conn) as cur:
        if mode != "unfenced":
            fence.check(cur, "counter")
        before = known if known is not None else last(cur)
        time.sleep(random.uniform(0, 0.02))
        cur.execute("INSERT INTO counted (n, token, worker) VALUES (%s, %s, %s)", [before + 1, lease.token, name])


def last(cur: Any) -> int:
    cur.execute("SELECT max(n) FROM counted")
    return cur.fetchone()[0]


conn = connect()
once = mode in ("once", "read-first")
known = last(conn.cursor()) if mode == "read-first" else None
while True:
    try:
        with rowlock.lock(url, "counter", ttl=30 if once else 1) as lease:
            fence = rowlock.Fence(lease)
            if mode != "unfenced":
                fence.seal(conn.cursor(), "counter")
            for _ in range(1 if once else random.randint(1, 4)):
                increment(conn, lease, fence, known)
        if once:
            break
    except (rowlock.Lost, rowlock.Unavailable):  # the connection may have been lost before its transaction was rolled back
        with contextlib.suppress(psycopg.OperationalError, pymysql.OperationalError):
            conn = connect()
    except (psycopg.OperationalError, pymysql.OperationalError, pymysql.InterfaceError):  # the server ended the idle transaction
        conn = connect()
