"""Locks and fences in PostgreSQL, MySQL and MariaDB, by version 1 of rowlock's protocol (docs/protocol.md).

    with rowlock.lock("postgresql://db/app", "nightly", ttl=30) as lease:
        ...
"""

from .environment import from_environment
from .errors import Error, Held, Lost, Stale, Unavailable, Unknown
from .fence import Fence
from .lease import Lease, acquire, lock
from .store import Request, Store, clock

__all__ = [
    "Error", "Fence", "Held", "Lease", "Lost", "Request", "Stale", "Store", "Unavailable", "Unknown", "acquire", "clock", "from_environment",
    "lock",
]
