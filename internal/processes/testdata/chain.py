"""Extends the chain again and again, until TERM, with the Python client."""

import json
import os
import random
import signal
import sys
import time

import psycopg

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


def links(conn: psycopg.Connection, lease: rowlock.Lease, fence: rowlock.Fence) -> None:
    """Reads the end of the chain once and writes a few times."""
    with conn.transaction(), conn.cursor() as cur:
        if CHECKS:
            fence.check(cur, CHAIN)
        cur.execute("SELECT coalesce((SELECT new_val FROM ledger WHERE id = %s ORDER BY seq DESC LIMIT 1), 0)", [ID])
        last = cur.fetchone()[0]
    for _ in range(3):
        tell("ready", lease.token, last)
        time.sleep(random.uniform(0.01, 0.1))
        with conn.transaction(), conn.cursor() as cur:
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
    with psycopg.connect(DSN, autocommit=True) as conn, rowlock.lock(DSN, CHAIN, ttl=float(os.environ["TTL"]), wait=1) as lease:
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
        except psycopg.errors.SerializationFailure as e:
            tell("undone", lease.token, detail=str(e))
        except psycopg.Error as e:
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
