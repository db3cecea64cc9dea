-- Triggers that record every change of a lock's row, in the transaction that makes the change.
-- Times are microseconds since 1970.
CREATE TABLE torture_audit (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    gone        BOOLEAN NOT NULL,
    holder      TEXT    NOT NULL,
    old_token   INTEGER NOT NULL,
    old_nonce   TEXT    NOT NULL,
    old_expires INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    nonce       TEXT    NOT NULL,
    expires     INTEGER NOT NULL,
    at          INTEGER NOT NULL
)
-- next
CREATE TRIGGER torture_audit_insert AFTER INSERT ON rowlock_lease BEGIN
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (NEW.name, FALSE, NEW.holder, 0, '', 0, NEW.token, COALESCE(NEW.nonce, ''), NEW.expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000);
END
-- next
CREATE TRIGGER torture_audit_update AFTER UPDATE ON rowlock_lease BEGIN
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (NEW.name, FALSE, NEW.holder, OLD.token, COALESCE(OLD.nonce, ''), OLD.expires_at,
        NEW.token, COALESCE(NEW.nonce, ''), NEW.expires_at, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000);
END
-- next
CREATE TRIGGER torture_audit_delete AFTER DELETE ON rowlock_lease BEGIN
INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
VALUES (OLD.name, TRUE, '', OLD.token, COALESCE(OLD.nonce, ''), OLD.expires_at, 0, '', 0, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000);
END
