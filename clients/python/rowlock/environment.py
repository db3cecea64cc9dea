"""The lease of a program that "rowlock run" has started."""

from __future__ import annotations

import json
import os
import socket

from .errors import Lost, Unavailable, Unknown
from .lease import Lease
from .store import Request, Store, clock


def from_environment() -> Lease:
    """Returns the lease of the parent, "rowlock run", from ROWLOCK_LEASE. A release ends only this process's trust."""
    try:
        text = json.loads(os.environ["ROWLOCK_LEASE"])
    except KeyError:
        raise Unavailable("ROWLOCK_LEASE is not set: start the program with rowlock run", permanent=True) from None
    if text["version"] != 1 or text.get("shared"):
        raise Unavailable("ROWLOCK_LEASE describes a lease that this client does not understand", permanent=True)
    r = Request(text["name"], text["ttl_us"] / 1e6, text["namespace"], nonce=text["nonce"])
    parent, sent = _Parent(text["keeper"], text["domain"]), clock()
    return Lease(parent, r, int(text["token"]), sent + parent.renew(r, 0, r.limit))


class _Parent(Store):
    """Asks the parent to renew the lease. Each request has a connection of its own."""

    def __init__(self, path: str, kind: str) -> None:
        self._url, self._conn, self.kind = path, None, kind

    def renew(self, r: Request, token: int, limit: float) -> float:
        try:
            with socket.socket(socket.AF_UNIX) as conn:
                conn.settimeout(limit)
                conn.connect(self._url)
                conn.sendall(json.dumps({"id": 1, "nonce": r.nonce}).encode() + b"\n")
                answer = json.loads(conn.makefile("rb").readline())
        except socket.timeout as e:
            raise Unknown("the process that holds the lock did not answer") from e
        except (OSError, ValueError) as e:  # an empty line, which is the end of the connection, is no JSON
            raise Lost(f"{r.name!r}: the process that holds the lock has ended, or no longer holds it") from e
        if answer.get("trust_us", 0) <= 0:
            raise Unknown(f"the process that holds the lock did not renew it: {answer.get('error')}")
        return float(answer["trust_us"] / 1e6)

    def release(self, r: Request, token: int, limit: float) -> bool:
        return True  # the parent releases the lock
