"""Is the program that "rowlock locktest" judges: it answers requests with the Python client.

    rowlock locktest --store=postgresql://localhost/test -- python3 conformance.py

The page docs/protocol.md describes the requests. ROWLOCK_STORE is the address of the store.
"""

import json
import os
import sys
import threading
from typing import Any, Callable

import rowlock

OUT = threading.Lock()


class Program:
    """Answers each request in a thread of its own, with a store that no other thread uses at that time."""

    def __init__(self, dsn: str, store: Callable[[str], rowlock.Store] = rowlock.Store) -> None:
        self._new = lambda: store(dsn)
        self._idle = [self._new()]  # imports the driver, so that the program ends at once if there is none
        self._leases: dict[str, rowlock.Lease] = {}

    def answer(self, q: dict[str, Any]) -> dict[str, Any]:
        """Returns the reply to the request q, without its id."""
        op = q["op"]
        if op == "capabilities":
            return {"backend": "python", "tokens": "linearizable", "leases": True}
        if op == "trust":
            return {"trust_us": int(self._leases[q["lease"]].left() * 1e6)}
        if op == "unlock":
            self._leases.pop(q["lease"]).release()
            return {}
        store = self._idle.pop() if self._idle else self._new()
        if op == "lock":  # the store belongs to the lease
            wait = q["wait_us"] / 1e6
            lease = rowlock.acquire(store, rowlock.Request(q["name"], q["ttl_us"] / 1e6, q["namespace"]), wait)
            self._leases[str(id(lease))] = lease
            return {"lease": str(id(lease)), "token": str(lease.token)}
        try:
            return self._attempt(store, q)
        finally:
            self._idle.append(store)

    @staticmethod
    def _attempt(store: rowlock.Store, q: dict[str, Any]) -> dict[str, Any]:
        limit = q["limit_us"] / 1e6
        if q["op"] == "acquire":
            return {"token": str(store.acquire(request(q), limit))}
        if q["op"] == "renew":
            return {"outcomes": store.renew_all([(request(g), int(g["token"])) for g in q["grants"]], limit)}
        if q["op"] == "release":
            return {} if store.release(request(q), int(q["token"]), limit) else {"error": "not held"}
        raise ValueError(f"unknown operation {q['op']}")


def request(q: dict[str, Any]) -> rowlock.Request:
    """Returns the request that q describes."""
    return rowlock.Request(
        q["name"], q["ttl_us"] / 1e6, q["namespace"], q.get("holder", ""), q.get("note", ""),
        q["min_hold_us"] / 1e6, q["handover_delay_us"] / 1e6, q["nonce"])


def failure(e: Exception) -> dict[str, Any]:
    """Returns the reply that reports e."""
    if isinstance(e, rowlock.Held):
        return {"error": "held", "reason": e.reason, "token": str(e.token), "holder": e.holder, "note": e.note,
                "since_us": int(e.since * 1e6), "free_in_us": int(e.free_in * 1e6)}
    word = "unknown"
    if isinstance(e, rowlock.Lost):
        word = "lost"
    elif isinstance(e, rowlock.Unavailable):
        word = "permanent" if e.permanent else "not applied"
    return {"error": word, "message": str(e)}


def serve(program: Program) -> None:
    """Answers the requests on stdin until it ends."""

    def reply(q: dict[str, Any]) -> None:
        try:
            answer = program.answer(q)
        except Exception as e:  # every error is a reply
            answer = failure(e)
        with OUT:
            print(json.dumps({"id": q["id"], **answer}), flush=True)

    for line in sys.stdin:
        threading.Thread(target=reply, args=(json.loads(line),), daemon=True).start()


if __name__ == "__main__":
    serve(Program(os.environ["ROWLOCK_STORE"]))
