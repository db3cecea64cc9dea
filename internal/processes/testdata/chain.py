"""Extends the chain again and again, until TERM, with the Python client."""

import contextlib
import json
import os
import random
import re
import signal
import sys
import time
from typing import Any, Iterator

import psycopg
import pymysql

import rowlock

DSN, CHAIN, ID, WORKER = os.environ["ROWLOCK_STORE"], os.environ["CHAIN"], int(os.environ["ID"]), int(os.environ["WORKER"])
CHECKS = bool(os.environ["CHECKS"])
over = False


def end(*_: object) -> None:
    global over
    over = True


def tell(what: str, token: int = 0, last: int = 0, detail: str = "") -> None:
    event = {"What": what, "Token": token, "At": time.time_ns(), "Last": last, "Detail": detail}
    os.write(sys.stdout.fileno(), json.dumps(event).encode() + b"\n")


def connect() -> "tuple[str, Any]":
    """Returns the address of the store, and a connection to its database. A MySQL address is that of the Go driver."""
    mysql = re.fullmatch(r"(.*?)(?::(.*))?@tcp\((.*):(\d+)\)/([^?]*).*", DSN)
    if mysql is None:
        return DSN, psycopg.connect(DSN, autocommit=True)
    user, password, host, port, database = mysql.groups(default="")
    conn = pymysql.connect(host=host, port=int(port), user=user, password=password, database=database, autocommit=True)
    return f"mysql://{user}:{password}@{host}:{port}/{database}", conn


@contextlib.contextmanager
def transaction(conn: Any) -> Iterator[Any]:
    cur = conn.cursor()
    cur.execute("BEGIN")
    try:
        yield cur
    except BaseException:
        with contextlib.suppress(psycopg.Error, pymysql.Error):
            cur.execute("ROLLBACK")
        raise
    cur.execute("COMMIT")


def links(conn: Any, lease: rowlock.Lease, fence: rowlock.Fence) -> None:
    """Reads the end of the chain once and writes a few times."""
    with transaction(conn) as cur:
        if CHECKS:
            fence.check(cur, CHAIN)
        cur.execute("SELECT coalesce((SELECT new_val FROM ledger WHERE id = %s ORDER BY seq DESC LIMIT 1), 0)", [ID])
        last = cur.fetchone()[0]
    for _ in range(3):
        tell("ready", lease.token, last)
        time.sleep(random.uniform(0.01, 0.1))
        with transaction(conn) as cur:
            if CHECKS:
                fence.check(cur, CHAIN)
            tell("inside", lease.token, last)
            next_value = random.getrandbits(62)
            cur.execute(
                "INSERT INTO ledger (id, token, nonce, worker, read_val, new_val) VALUES (%s, %s, %s, %s, %s, %s)",
                [ID, lease.token, lease.nonce, WORKER, last, next_value],
            )
        last = next_value
        tell("wrote", lease.token, last)


def hold() -> None:
    url, conn = connect()
    with contextlib.closing(conn), rowlock.lock(url, CHAIN, ttl=float(os.environ["TTL"]), wait=1) as lease:
        fence = rowlock.Fence(lease)
        try:
            if CHECKS:
                fence.seal(conn.cursor(), CHAIN)
            tell("granted", lease.token)
            links(conn, lease, fence)
        except rowlock.Stale as e:
            tell("stale", lease.token, detail=str(e))
        except rowlock.Lost as e:
            tell("lost", lease.token, detail=str(e))
        except rowlock.Unavailable as e:
            tell("undone", lease.token, detail=str(e))
        except (psycopg.Error, pymysql.Error) as e:
            tell("broken", lease.token, detail=str(e))
        tell("released", lease.token)


signal.signal(signal.SIGTERM, end)
tell("started")
while not over:
    try:
        hold()
    except rowlock.Held:
        pass
    except rowlock.Error as e:
        tell("unavailable", detail=str(e))
