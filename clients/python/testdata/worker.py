"""Increments a counter under a lock until it is killed. The arguments are the address of the database, the name of the
worker, and fenced, unfenced, once, or read-first: once and read-first make one increment, and read-first reads the
counter before it acquires the lock."""

import contextlib
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import psycopg

import rowlock

dsn, name, mode = sys.argv[1:]


def increment(conn: psycopg.Connection, lease: rowlock.Lease, fence: rowlock.Fence, known: "int | None" = None) -> None:
    """Reads the counter and writes the next number, in one transaction."""
    with conn.transaction(), conn.cursor() as cur:
        if mode != "unfenced":
            fence.check(cur, "counter")
        before = known if known is not None else cur.execute("SELECT max(n) FROM counted").fetchone()[0]
        time.sleep(random.uniform(0, 0.02))
        cur.execute("INSERT INTO counted (n, token, worker) VALUES (%s, %s, %s)", [before + 1, lease.token, name])


with psycopg.connect(dsn, autocommit=True) as conn:
    known = conn.execute("SELECT max(n) FROM counted").fetchone()[0] if mode == "read-first" else None
    while True:
        with contextlib.suppress(rowlock.Lost, rowlock.Unavailable, psycopg.OperationalError):
            with rowlock.lock(dsn, "counter", ttl=1) as lease:
                fence = rowlock.Fence(lease)
                if mode != "unfenced":
                    fence.seal(conn.cursor(), "counter")
                for _ in range(1 if known is not None or mode == "once" else random.randint(1, 4)):
                    increment(conn, lease, fence, known)
            if mode in ("once", "read-first"):
                break
        if conn.closed:
            conn = psycopg.connect(dsn, autocommit=True)
