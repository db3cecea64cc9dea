"""Is conformance.py with one defect, whose name is the first argument. The suite must catch each."""

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
from rowlock.postgres import Postgres


class RenewsByName(Postgres):
    sql = {**Postgres.sql, "renew_by_name": (
        "UPDATE rowlock_lease SET expires_at = clock_timestamp() + %(p3)s * interval '1 us', held_until = clock_timestamp() + %(p3)s * interval '1 us'"
        " WHERE namespace = %(p1)s AND name = %(p2)s AND nonce IS NOT NULL")}
    parameters = {**Postgres.parameters, "renew_by_name": "namespace name ttl"}

    def renew(self, grants: Any, limit: float) -> list[str]:
        for r, _ in grants:
            self._run("renew_by_name", self._values(r), rowlock.clock() + limit)
        return ["renewed"] * len(grants)


class ReleasesWithoutNonce(Postgres):
    sql = {**Postgres.sql, "release": Postgres.sql["release"].replace("l.nonce = %(p3)s::text::uuid", "%(p3)s::text IS NOT NULL")}


class DrawsAnotherNonce(Postgres):
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
            "draws another nonce for a retry": DrawsAnotherNonce}.get(defect, rowlock.open_store)


conformance.serve(conformance.Program(os.environ["ROWLOCK_STORE"], store()))
