"""The statements for MySQL and MariaDB, through PyMySQL."""

from __future__ import annotations

import base64
import contextlib
import random
import time
from typing import Any, Callable, Iterator, Sequence, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import SERVER_STATUS

from .errors import Unavailable, Unknown
from .store import statements

KIND = "sqllock/mysql"
SQL = {
    **statements("mysql", {
        "look": "share longest nonce path nonce waiter waiter namespace name",
        "acquire": "namespace name nonce waiter epoch nonce floor nonce holder note nonce ttl expiry nonce min_hold waiter waiter",
        "insert": "namespace name nonce holder note ttl longest longest namespace name",
        "granted": "namespace name nonce path",
        "adopt_epoch": "",
        "raise_longest_ttl": "longest",
        "renew": "grants",
        "renewed": "renewed_at grants",
        "release": "namespace name nonce token min_hold min_hold min_hold tick",
        "released_before": "token token nonce token namespace name",
        "ears": "place place namespace name",
        "wait": "waiter waiter waiter waiter waiter namespace name waiter waiter namespace name",
        "leave": "waiter waiter waiter waiter waiter namespace name waiter namespace name",
    }),
    **statements("fence_mysql", {
        "lock_wait": "",
        "set_lock_wait": "row_wait table_wait idle_wait",
        "read_committed": "",
        "read": "namespace resource",
        "raise": "namespace resource token nonce domain",
        "check": "namespace resource namespace resource",
        "pass": "nonce nonce",
    }),
}
MARIADB_SQL = {
    **SQL,
    **statements("mariadb", {
        "acquire": "expiry nonce min_hold nonce floor nonce nonce holder note ttl waiter waiter namespace name nonce waiter epoch",
        "release": "min_hold min_hold min_hold tick namespace name nonce token",
    }),
}


Error = pymysql.Error
# Patterns for the number of an error, which is empty if the connection failed. A statement of a fence whose outcome is
# unknown is transient, too, because its transaction was not committed.
UNKNOWN = r"|0|1053|1180|1317|1927|1969|3024|3100|3101|3169|4031|2\d{3}|9\d{3}"
TRANSIENT = "1020|1062|1205|1213|1615|1969|3024|3101|3572"
PERMANENT = "1044|1049|1054|1064|1142|1143|1146|1227|1290|1665|1792|1836"


def text(name: str) -> str:
    return base64.b64encode(name.encode()).decode() + " "  # the space keeps an empty text from being empty, and is ignored


def code(e: Any) -> str:
    return str(e.args[0]) if isinstance(e, pymysql.Error) and e.args else ""


def connect(url: str, seconds: float) -> Any:
    at = urlsplit(url)
    conn = pymysql.connect(
        host=at.hostname, port=at.port or 3306, user=unquote(at.username or ""), password=unquote(at.password or ""),
        database=unquote(at.path[1:]), charset="utf8mb4", autocommit=True,
        connect_timeout=seconds, read_timeout=seconds, write_timeout=seconds, **dict(parse_qsl(at.query)))
    conn._read_timeout = conn._write_timeout = None  # other limits apply to the statements
    return conn


def fileno(conn: Any) -> int:
    if not conn.open:
        raise pymysql.InterfaceError(0, "the connection is closed")
    return int(conn._sock.fileno())


def execute(conn: Any, statement: str, values: dict[str, Any]) -> Any:
    sql = MARIADB_SQL if "MariaDB" in conn.get_server_info() else SQL
    cur = conn.cursor(pymysql.cursors.Cursor)
    cur.execute(sql.get(statement, statement), values)
    return cur


def ask(run: Callable[..., Any], waiting: bool, waiter: str) -> Any:
    path = f'$."{waiter}"'  # of a share, which this client never has
    look = run("look", share=0, path=path).fetchone()
    if look is None:
        return None
    verdict, token, holder, note, since_us, free_in_us, _, must_wait, _, epoch, floor = look[:11]
    if verdict in ("contended", "missing"):
        done = run("acquire" if verdict == "contended" else "insert", epoch=epoch, floor=floor)
        if done is not None and (done.rowcount or done.lastrowid):
            token = done.lastrowid
            if not 0 < token < 1 << 63:  # the row has a tick
                (token, _) = run("granted", path=path).fetchone()
            return "granted", token, "", "", 0, 0
        verdict = "contended"
    if waiting and must_wait:
        run("wait")
    return verdict, token, holder.decode(), note.decode(), since_us, free_in_us


def renew(run: Callable[..., Any], count: int) -> Any:
    done = run("renew")
    if done.rowcount == count:
        return [(n, "renewed") for n in range(count)]
    return run("renewed", renewed_at=done.lastrowid).fetchall()


def wake(run: Callable[..., Any], released: Any) -> None:
    """Wakes the first two processes of the queue. The second one acquires the lock if the first does not come."""
    with contextlib.suppress(Unknown, Unavailable):
        ears = released.lastrowid and run("ears", place=1).fetchone()
        for ear in ears[:2] if ears else ():
            with contextlib.suppress(Unavailable):  # the process has no ear, or another user
                run(f"KILL QUERY IS_USED_LOCK('rowlock-ear {int(ear):012x}')")


def rest(conn: Any, since: float, longest: float) -> None:
    time.sleep(min(random.uniform(0.75, 1.25) * min(max(since / 4, 0.01), 1.0), longest))  # a release notifies no process


def in_transaction(conn: Any) -> bool:
    return bool(conn.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)


@contextlib.contextmanager
def own_transaction(conn: Any, limit: float) -> Iterator[None]:
    names = "row_wait", "table_wait", "idle_wait"
    before = dict(zip(names, execute(conn, "lock_wait", {}).fetchone()[1:]))
    execute(conn, "set_lock_wait", {name: max(1, min(int(limit), seconds)) for name, seconds in before.items()})
    try:
        execute(conn, "read_committed", {})
        conn.begin()
        yield
        conn.commit()
    except BaseException:
        conn.rollback()
        raise
    finally:
        execute(conn, "set_lock_wait", before)


def check(conn: Any, values: dict[str, Any], trust: float) -> Tuple[Sequence[Any], bool]:
    token, nonce, *snapshot = execute(conn, "check", values).fetchone() or (0, "", 0, "")
    execute(conn, "pass", values)  # protected tables read it
    return ((token, nonce), snapshot != [token, nonce]) if nonce else ((), False)
