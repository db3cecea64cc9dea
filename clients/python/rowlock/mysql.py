"""The statements for MySQL and MariaDB, through PyMySQL."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import socket
import time
from typing import Any, Dict, Iterator, Sequence, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import SERVER_STATUS

from .errors import Held, Unavailable
from .store import Refused, Request, Store, bounded, statements


def _sql(*folders: str) -> Dict[str, str]:
    """Returns the statements with PyMySQL's placeholders."""
    return {name: text.replace("?", "%s") for name, text in statements(*folders).items()}


def _base64(text: str) -> str:
    """Returns the text in base64. The space keeps it from being empty, and is ignored."""
    return base64.b64encode(text.encode()).decode() + " "


class MySQL(Store):
    """Keeps locks in MySQL or MariaDB."""

    kind = "sqllock/mysql"
    sql = _sql("mysql")
    parameters = {
        "look": "share longest nonce path nonce waiter waiter namespace name",
        "acquire": "namespace name nonce waiter epoch nonce floor nonce holder note nonce ttl expiry nonce min_hold waiter waiter",
        "insert": "namespace name nonce holder note ttl longest longest namespace name",
        "granted": "namespace name nonce path",
        "adopt_epoch": "",
        "raise_longest_ttl": "longest",
        "renew": "grants",
        "renewed": "renewed_at grants",
        "release": "min_hold min_hold min_hold tick namespace name nonce token namespace name",
        "released_before": "token token nonce token namespace name",
        "wait": "waiter waiter waiter waiter waiter namespace name waiter waiter namespace name",
        "leave": "waiter waiter waiter waiter namespace name waiter namespace name",
    }
    transient = ("1205", "1213", "1020", "3572", "1615")
    permanent = ("1290", "1792", "1836", "1044", "1142", "1143", "1227", "1665", "1146", "1054", "1049", "1064")
    contended = {"acquire": ("3572",), "insert": ("1062", "3572")}

    def rest(self, held: Held, longest: float) -> None:
        """Sleeps for a quarter of the time for which the lock has been held, because a release notifies no process."""
        pause = random.uniform(0.75, 1.25) * min(max(held.since / 4, 0.01), 1.0)
        time.sleep(min(pause, max(held.free_in, 0.005), longest))

    def _ask(self, values: Dict[str, Any], waiting: bool, end: float) -> Tuple[str, int, str, str, int, int]:
        row = self._run("look", values, end).fetchone()
        if row is None:
            raise Unavailable("the table rowlock_lease_meta has no row: migrate the database", permanent=True)
        verdict, token, holder, note, since_us, free_in_us, _, must_wait, epoch, floor = row[:10]
        if verdict in ("contended", "missing"):
            values = {**values, "epoch": epoch, "floor": floor}
            cur = self._run("acquire" if verdict == "contended" else "insert", values, end)
            if cur is not None and (cur.rowcount or cur.lastrowid):
                if not 0 < cur.lastrowid < 1 << 63:  # the row has a tick
                    cur.lastrowid = self._run("granted", values, end).fetchone()[0]
                return "granted", cur.lastrowid, "", "", 0, 0
            verdict = "contended"
        if waiting and must_wait:
            self._run("wait", values, end)
        return verdict, token, holder.decode(), note.decode(), since_us, free_in_us

    def _renew(self, grants: str, end: float) -> Sequence[Tuple[int, str]]:
        done = self._run("renew", {"grants": grants}, end)
        if done.rowcount == len(json.loads(grants)):
            return [(n, "renewed") for n in range(done.rowcount)]
        return self._run("renewed", {"grants": grants, "renewed_at": done.lastrowid}, end).fetchall()

    def _values(self, r: Request) -> Dict[str, Any]:
        values = {**super()._values(r), "share": 0, "path": f'$."{r.nonce}"'}
        return {**values, **{k: _base64(values[k]) for k in ("namespace", "name", "holder", "note")}}

    def _connect(self, seconds: float) -> Any:
        at = urlsplit(self._url)
        conn = pymysql.connect(
            host=at.hostname, port=at.port or 3306, user=unquote(at.username or ""), password=unquote(at.password or ""),
            database=unquote(at.path[1:]), charset="utf8mb4", autocommit=True, defer_connect=True, **dict(parse_qsl(at.query)))
        try:
            wire = socket.create_connection((conn.host, conn.port), seconds)
            wire.settimeout(None)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with bounded(wire.fileno(), seconds):
                conn.connect(wire)
        except (pymysql.Error, OSError) as e:
            raise Refused("", str(e)) from e
        if "MariaDB" in conn.get_server_info():
            self.sql, self.parameters, self.contended = MARIADB_SQL, MARIADB_PARAMETERS, {"acquire": ("1205",), "insert": ("1062", "1205")}
        return conn

    def _execute(self, statement: str, args: Sequence[Any], seconds: float) -> Any:
        try:
            with bounded(self._conn._sock.fileno(), seconds):
                cur = self._conn.cursor()
                cur.execute(self.sql[statement], args)
                return cur
        except (pymysql.Error, OSError) as e:
            raise Refused(str(e.args[0] or "") if isinstance(e, pymysql.Error) else "", str(e)) from e

    def _uncertain(self, code: str) -> bool:
        return code in ("1053", "1180", "1317", "1927", "1969", "3024", "3100", "3101", "3169", "4031") \
            or 2000 <= int(code) < 3000 or 9000 <= int(code) < 10000


MARIADB_SQL = _sql("mysql", "mariadb")
MARIADB_PARAMETERS = {
    **MySQL.parameters,
    "acquire": "expiry nonce min_hold nonce floor nonce nonce holder note ttl waiter waiter namespace name nonce waiter epoch",
    "insert": "namespace name nonce holder note ttl longest longest",
    "release": "min_hold min_hold min_hold tick namespace name nonce token",
    "wait": "waiter waiter waiter waiter waiter namespace name waiter waiter",
    "leave": "waiter waiter waiter waiter namespace name waiter",
}


class Marks:
    """Are the marks of a fence in the database of a connection."""

    Error = pymysql.Error
    sql = _sql("fence_mysql")

    def __init__(self, conn: Any) -> None:
        if not conn.open:
            raise pymysql.InterfaceError(0, "the connection is closed")
        self._conn = conn
        self.fileno = conn._sock.fileno

    def in_transaction(self) -> bool:
        return bool(self._conn.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    def transient(self, e: Any) -> bool:
        return e.args[0] in (1205, 1213, 1020, 3101, 1969, 3024)

    @contextlib.contextmanager
    def own_transaction(self, limit: float) -> Iterator[None]:
        _, *before = self._query("lock_wait")
        self._query("set_lock_wait", *(max(1, min(int(limit), seconds)) for seconds in before))
        try:
            self._query("read_committed")
            self._conn.begin()
            yield
            self._conn.commit()
        except BaseException:
            self._conn.rollback()
            raise
        finally:
            self._query("set_lock_wait", *before)

    def read(self, namespace: str, resource: str) -> Sequence[Any]:
        token, nonce, domain = self._query("read", _base64(namespace), _base64(resource)) or (0, "", b"")
        return (token, nonce, domain.decode()) if nonce else ()

    def lift(self, namespace: str, resource: str, token: int, nonce: str, domain: str) -> None:
        self._query("raise", _base64(namespace), _base64(resource), token, nonce, _base64(domain))

    def check(self, namespace: str, resource: str, nonce: str, trust: float) -> Tuple[Sequence[Any], bool]:
        key = _base64(namespace), _base64(resource)
        token, found, *snapshot = self._query("check", *key, *key) or (0, "", 0, "")
        self._query("pass", nonce, nonce)  # protected tables read it
        return ((token, found), snapshot != [token, found]) if found else ((), False)

    def _query(self, statement: str, *args: Any) -> Sequence[Any]:
        with self._conn.cursor(pymysql.cursors.Cursor) as cur:
            cur.execute(self.sql[statement], args)
            return (cur.fetchone() or ()) if cur.description else ()
