"""The lease of a program that "rowlock run" has started."""

from __future__ import annotations

import json
import os
import socket
from typing import Sequence, Tuple

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
    keeper, sent = _Keeper(text["keeper"], text["domain"]), clock()
    if keeper.renew([(r, 0)], r.limit) == ["lost"]:
        raise Lost(f"{r.name!r}: the process that holds the lock has ended, or no longer holds it")
    return Lease(keeper, r, int(text["token"]), sent, None)


class _Keeper(Store):
    """Asks the parent to renew the lease, and for how long to trust it."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path)
        self.kind = kind
        self._trust = 0.0
        self._last = 0
        self._lines = None

    def trust(self, r: Request) -> float:
        return self._trust

    def renew(self, grants: Sequence[Tuple[Request, int]], limit: float) -> list[str]:
        self._last += 1
        try:
            if self._conn is None:
                self._conn = socket.socket(socket.AF_UNIX)
                self._conn.settimeout(limit)
                self._conn.connect(self._url)
            self._conn.settimeout(limit)
            self._lines = self._lines or self._conn.makefile("rb")
            self._conn.sendall(json.dumps({"id": self._last, "nonce": grants[0][0].nonce}).encode() + b"\n")
            answer = {"id": -1}
            while answer["id"] != self._last:  # answers to earlier requests say nothing about this one
                answer = json.loads(self._lines.readline())
        except socket.timeout as e:  # a file that has timed out cannot be read any longer
            self._lines = None
            raise Unknown("the process that holds the lock did not answer") from e
        except (OSError, ValueError):  # an empty line, which is the end of the connection, is no JSON
            return ["lost"]
        if answer.get("trust_us", 0) <= 0:
            raise Unknown(f"the process that holds the lock did not renew it: {answer.get('error')}")
        self._trust = answer["trust_us"] / 1e6
        return ["renewed"]

    def release(self, r: Request, token: int, limit: float) -> bool:
        return True  # the parent releases the lock
