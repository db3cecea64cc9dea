"""The fence: rejects a lease in the transactions of a database, once a newer lease has sealed."""

from __future__ import annotations

import random
import re
import time
from typing import Any, Sequence

from .errors import Stale, Unavailable
from .lease import Lease
from .store import bounded, database


class Fence:
    """Rejects the lease in the transactions of a database, which need not be that of the lock. Resources are names of
    data that must be written in order. cur is a cursor of psycopg or PyMySQL. Errors of its connection are theirs."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def seal(self, cur: Any, *resources: str) -> None:
        """Makes the lease the newest holder of the resources, in a transaction of its own. Call it once, before the
        first read. It waits for the transactions that older leases have checked. Raises Stale or Lost."""
        db, conn = _database(cur), cur.connection
        if self._lease.token <= 0:
            raise ValueError("the store of the lock grants no tokens")
        if db.in_transaction(conn):
            raise ValueError("seal needs a connection without an open transaction")
        while True:
            self._lease.check()
            try:
                with bounded(db.fileno(conn), self._lease.left()), db.own_transaction(conn, self._lease.left() * 0.9):
                    for resource in sorted(set(resources)):
                        self._raise(db, conn, resource)
                return
            except db.Error as e:
                self._lease.check()
                if not re.fullmatch(db.TRANSIENT, db.code(e)):
                    raise
            time.sleep(random.uniform(0.002, 0.1))

    def check(self, cur: Any, *resources: str) -> None:
        """Makes sure that no newer lease seals the resources before the open transaction of cur ends. Call it before
        the first read of each transaction. After an error, roll back. Raises Stale or Lost, or Unavailable if the
        transaction has to run again."""
        db, conn = _database(cur), cur.connection
        self._lease.check()
        with bounded(db.fileno(conn), self._lease.left()):
            for resource in sorted(set(resources)):
                mark, again = db.check(conn, self._values(db, resource), self._lease.left())
                self._compare(resource, mark)
                if again:
                    raise Unavailable(f"{resource!r}: another lease seals or has sealed: run the transaction again")
        if not db.in_transaction(conn):
            raise ValueError("no transaction is open, so nothing keeps the lock on the mark: begin one before the check")

    def _raise(self, db: Any, conn: Any, resource: str) -> None:
        values = self._values(db, resource)
        mark = db.execute(conn, "read", values).fetchone()
        if not mark or mark[0] < self._lease.token:  # a second seal must not wait for the lease's own transactions
            db.execute(conn, "raise", values)
            mark = db.execute(conn, "read", values).fetchone()
        self._compare(resource, mark)

    def _values(self, db: Any, resource: str) -> dict[str, Any]:
        lease = self._lease
        texts = {"namespace": lease.namespace, "resource": resource, "domain": f"{lease.kind} {lease.name}"}
        return {**{name: db.text(text) for name, text in texts.items()}, "token": lease.token, "nonce": lease.nonce}

    def _compare(self, resource: str, mark: Sequence[Any]) -> None:
        if not mark:
            raise Stale(f"{resource!r} was never sealed: call seal once, after the lock was acquired")
        if mark[1] != self._lease.nonce:
            raise Stale(f"{resource!r}: the lease has token {self._lease.token}, but the mark has token {mark[0]}")


def _database(cur: Any) -> Any:
    """Returns the module for the database of the cursor."""
    return database("mysql" if type(cur).__module__.startswith("pymysql") else "postgres")
