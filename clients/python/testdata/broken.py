"""Is conformance.py with one defect, whose name is the first argument. The suite must catch each."""

import dataclasses
import os
import sys
import uuid
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import conformance
import rowlock
import rowlock.lease


class Careless(rowlock.Store):
    """Knows which grant the row of a lock has, also if it is another client's."""

    def granted_to(self, r: Any, token: int, limit: float) -> Any:
        at = "FROM_BASE64(%(namespace)s), FROM_BASE64(%(name)s)" if "mysql" in self.kind else "%(namespace)s, %(name)s"
        find = f"SELECT nonce, token FROM rowlock_lease WHERE nonce IS NOT NULL AND (namespace, name) = ({at})"
        row = self._runner(self._values(r), limit)(find).fetchone()
        return (dataclasses.replace(r, nonce=str(row[0])), row[1]) if row else (r, token)


class RenewsByName(Careless):
    def renew_all(self, grants: Any, limit: float) -> list[str]:
        return super().renew_all([self.granted_to(r, token, limit) for r, token in grants], limit)


class ReleasesWithoutNonce(Careless):
    def release(self, r: Any, token: int, limit: float) -> bool:
        return super().release(self.granted_to(r, token, limit)[0], token, limit)


class DrawsAnotherNonce(rowlock.Store):
    def acquire(self, r: Any, limit: float, waiting: bool = False) -> int:
        if getattr(r, "repeated", False):
            r.nonce = str(uuid.uuid4())
        r.repeated = True
        return super().acquire(r, limit, waiting)


class CountsFromTheReply(rowlock.Store):
    def renew(self, r: Any, token: int, limit: float) -> float:
        sent = rowlock.clock()
        return super().renew(r, token, limit) + rowlock.clock() - sent


class TrustsFromTheReply(rowlock.Lease):
    def __init__(self, store: Any, r: Any, token: int, deadline: float, doubted: Any = None) -> None:
        super().__init__(store, r, token, rowlock.clock() + r.trust, doubted)


def store() -> Any:
    """Applies the defect and returns the class of the store."""
    defect = sys.argv[1]
    if defect == "deadline from the reply":
        rowlock.lease.Lease = TrustsFromTheReply
    elif defect == "trusts until a renewal says lost":
        rowlock.Lease.left = lambda lease: 0.0 if lease._lost else 1.0
    elif defect == "leaves what it gave up":
        rowlock.lease._part = lambda *_: None
    return {"deadline from the reply": CountsFromTheReply, "renews by name": RenewsByName, "releases without the nonce": ReleasesWithoutNonce,
            "draws another nonce for a retry": DrawsAnotherNonce}.get(defect, rowlock.Store)


conformance.serve(conformance.Program(os.environ["ROWLOCK_STORE"], store()))
