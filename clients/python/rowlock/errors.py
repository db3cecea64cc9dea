"""The four outcomes of a request other than success."""


class Error(Exception):
    """Is the base class of the outcomes."""


class Held(Error):
    """Another holder has the lock, or the lock is not free for another reason. Durations are in seconds."""

    def __init__(self, reason: str, token: int, holder: str, note: str, since: float, free_in: float) -> None:
        super().__init__(f"{reason}: holder {holder!r}, token {token}, free in {free_in:.3f} s")
        self.reason, self.token, self.holder, self.note, self.since, self.free_in = reason, token, holder, note, since, free_in


class Lost(Error):
    """The lease has ended: it may belong to another holder now."""


class Stale(Lost):
    """Another lease was the last to seal the resource, or no lease has sealed it."""


class Unknown(Error):
    """No reply came: the request may have had an effect, or may still have one."""


class Unavailable(Error):
    """The request had no effect. If permanent is true, a retry cannot help."""

    def __init__(self, message: str, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
