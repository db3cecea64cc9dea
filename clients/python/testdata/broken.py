"""Is conformance.py with one defect, whose name is the first argument. The suite must catch each."""

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import conformance
import rowlock


class RenewsByName(rowlock.Store):
    def renew(self, grants: Any, limit: float) -> list[str]:
        for r, _ in grants:
            self._run(
                "UPDATE rowlock_lease SET expires_at = clock_timestamp() + %(p3)s * interval '1 s',"
                " held_until = clock_timestamp() + %(p3)s * interval '1 s'"
                " WHERE namespace = %(p1)s AND name = %(p2)s AND nonce IS NOT NULL",
                [r.namespace, r.name, r.ttl], rowlock.clock() + limit)
        return ["renewed"] * len(grants)


class ReleasesWithoutNonce(rowlock.Store):
    def release(self, r: Any, token: int, limit: float) -> bool:
        return bool(self._run(
            "UPDATE rowlock_lease SET nonce = NULL, held_until = 'epoch' WHERE namespace = %(p1)s AND name = %(p2)s"
            " AND %(p3)s IN (0, token) RETURNING 1", [r.namespace, r.name, token], rowlock.clock() + limit))


class DrawsAnotherNonce(rowlock.Store):
    def acquire(self, r: Any, limit: float, waiting: bool = False) -> int:
        if getattr(r, "repeated", False):
            r.nonce = str(rowlock.uuid.uuid4())
        r.repeated = True
        return super().acquire(r, limit, waiting)


def deadline_from_reply(lease: Any, sent: float) -> float:
    return rowlock.clock() + lease.request.ttl * 0.9


def store() -> Any:
    """Applies the defect and returns the class of the store."""
    defect = sys.argv[1]
    if defect == "deadline from the reply":
        rowlock.Lease._deadline_from = deadline_from_reply
    elif defect == "trusts until a renewal says lost":
        rowlock.Lease.left = lambda lease: 0.0 if lease._lost else 1.0
    elif defect == "leaves what it gave up":
        rowlock._resolve = lambda *_: None
    elif defect == "hangs":
        time.sleep(3600)
    return {"renews by name": RenewsByName, "releases without the nonce": ReleasesWithoutNonce,
            "draws another nonce for a retry": DrawsAnotherNonce}.get(defect, rowlock.Store)


conformance.serve(conformance.Program(os.environ["ROWLOCK_STORE"], store()))
