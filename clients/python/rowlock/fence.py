"""The fence: rejects a lease in the transactions of a database, once a newer lease has sealed."""

from __future__ import annotations

import random
import time
from typing import Any, Sequence

from .errors import Stale, Unavailable
from .lease import Lease
from .store import bounded


class Fence:
    """Rejects the lease in the transactions of a database, which need not be that of the lock. Resources are names of
    data that must be written in order. cur is a cursor of psycopg or PyMySQL. Errors of its connection are theirs."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    def seal(self, cur: Any, *resources: str) -> None:
        """Makes the lease the newest holder of the resources, in a transaction of its own. Call it once, before the
        first read. It waits for the transactions that older leases have checked. Raises Stale or Lost."""
        marks = _marks(cur)
        if self._lease.token <= 0:
            raise ValueError("the store of the lock grants no tokens")
        if marks.in_transaction():
            raise ValueError("seal needs a connection without an open transaction")
        while True:
            self._lease.check()
            try:
                with bounded(marks.fileno(), self._lease.left()), marks.own_transaction(self._lease.left() * 0.9):
                    for resource in sorted(set(resources)):
                        self._raise(marks, resource)
                return
            except marks.Error as e:
                self._lease.check()
                if not marks.transient(e):
                    raise
            time.sleep(random.uniform(0.002, 0.1))

    def check(self, cur: Any, *resources: str) -> None:
        """Makes sure that no newer lease seals the resources before the open transaction of cur ends. Call it before
        the first read of each transaction. After an error, roll back. Raises Stale or Lost, or Unavailable if the
        transaction has to run again."""
        marks = _marks(cur)
        self._lease.check()
        with bounded(marks.fileno(), self._lease.left()):
            for resource in sorted(set(resources)):
                mark, again = marks.check(self._lease.namespace, resource, self._lease.nonce, self._lease.left())
                self._compare(resource, mark)
                if again:
                    raise Unavailable(f"{resource!r}: another lease seals or has sealed: run the transaction again")
        if not marks.in_transaction():
            raise ValueError("no transaction is open, so nothing keeps the lock on the mark: begin one before the check")

    def _raise(self, marks: Any, resource: str) -> None:
        key = self._lease.namespace, resource
        mark = marks.read(*key)
        if mark and mark[1] == self._lease.nonce:
            return  # a second seal must not wait for the lease's own transactions
        domain = f"{self._lease.kind} {self._lease.name}"
        if not mark or mark[0] < self._lease.token and mark[2] in ("", domain):
            marks.lift(*key, self._lease.token, self._lease.nonce, domain)
            mark = marks.read(*key)
        self._compare(resource, mark)

    def _compare(self, resource: str, mark: Sequence[Any]) -> None:
        if not mark:
            raise Stale(f"{resource!r} was never sealed: call seal once, after the lock was acquired")
        if mark[1] != self._lease.nonce:
            raise Stale(f"{resource!r}: the lease has token {self._lease.token}, but the mark has token {mark[0]}")


def _marks(cur: Any) -> Any:
    """Returns the marks in the database of the cursor."""
    if type(cur).__module__.startswith("pymysql"):
        from .mysql import Marks
    else:
        from .postgres import Marks
    return Marks(cur.connection)
