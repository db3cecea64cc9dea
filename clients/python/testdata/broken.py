"""Is conformance.py with one defect, whose name is the first argument. The suite must catch each."""

import dataclasses
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import conformance
import rowlock
import rowlock.lease


Kind: Any = type(rowlock.open_store(os.environ["ROWLOCK_STORE"]))


class Careless(Kind):
    """Knows which grant the row of a lock has, also if it is another client's."""

    def _connect(self, seconds: float) -> Any:
        conn = super()._connect(seconds)
        at = "(%(p1)s, %(p2)s)" if "postgres" in self.kind else "(FROM_BASE64(%s), FROM_BASE64(%s))"
        self.sql = {**self.sql, "granted_to": f"SELECT nonce, token FROM rowlock_lease WHERE nonce IS NOT NULL AND (namespace, name) = {at}"}
        self.parameters = {**self.parameters, "granted_to": "namespace name"}
        return conn

    def granted_to(self, r: Any, token: int, limit: float) -> Any:
        row = self._run("granted_to", self._values(r), rowlock.clock() + limit).fetchone()
        return (dataclasses.replace(r, nonce=str(row[0])), row[1]) if row else (r, token)


class RenewsByName(Careless):
    def renew(self, grants: Any, limit: float) -> list[str]:
        return super().renew([self.granted_to(r, token, limit) for r, token in grants], limit)


class ReleasesWithoutNonce(Careless):
    def release(self, r: Any, token: int, limit: float) -> bool:
        return super().release(self.granted_to(r, token, limit)[0], token, limit)


class DrawsAnotherNonce(Kind):
    def acquire(self, r: Any, limit: float, waiting: bool = False) -> int:
        if getattr(r, "repeated", False):
            r.nonce = str(uuid.uuid4())
        r.repeated = True
        return super().acquire(r, limit, waiting)


def deadline_from_reply(lease: Any, sent: float) -> float:
    return lease._store.trust(lease.request) + rowlock.clock()


def store() -> Any:
    """Applies the defect and returns the class of the store."""
    defect = sys.argv[1]
    if defect == "deadline from the reply":
        rowlock.Lease._deadline_from = deadline_from_reply
    elif defect == "trusts until a renewal says lost":
        rowlock.Lease.left = lambda lease: 0.0 if lease._lost else 1.0
    elif defect == "leaves what it gave up":
        rowlock.lease._resolve = lambda *_: None
    elif defect == "hangs":
        time.sleep(3600)
    return {"renews by name": RenewsByName, "releases without the nonce": ReleasesWithoutNonce,
            "draws another nonce for a retry": DrawsAnotherNonce}.get(defect, Kind)


conformance.serve(conformance.Program(os.environ["ROWLOCK_STORE"], store()))
