-- A trigger that records every change of a lock's row, in the transaction that makes the change.
-- Times are microseconds since 1970.
CREATE TABLE torture_audit (
    seq         bigserial PRIMARY KEY,
    name        text    NOT NULL,
    gone        boolean NOT NULL,
    holder      text    NOT NULL,
    old_token   bigint  NOT NULL,
    old_nonce   text    NOT NULL,
    old_expires bigint  NOT NULL,
    token       bigint  NOT NULL,
    nonce       text    NOT NULL,
    expires     bigint  NOT NULL,
    at          bigint  NOT NULL
)
-- next
CREATE FUNCTION torture_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was rowlock_lease; -- the row before the change; all columns are NULL if the row is new
    now rowlock_lease;
BEGIN
    IF TG_OP <> 'INSERT' THEN was := OLD; END IF;
    IF TG_OP <> 'DELETE' THEN now := NEW; END IF;
    INSERT INTO torture_audit (name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at)
    VALUES (COALESCE(now.name, was.name), TG_OP = 'DELETE', COALESCE(now.holder, ''),
            COALESCE(was.token, 0), COALESCE(was.nonce::text, ''), COALESCE((EXTRACT(epoch FROM was.expires_at) * 1000000)::bigint, 0),
            COALESCE(now.token, 0), COALESCE(now.nonce::text, ''), COALESCE((EXTRACT(epoch FROM now.expires_at) * 1000000)::bigint, 0),
            (EXTRACT(epoch FROM clock_timestamp()) * 1000000)::bigint);
    RETURN NULL;
END
$$
-- next
CREATE TRIGGER torture_audit AFTER INSERT OR UPDATE OR DELETE ON rowlock_lease FOR EACH ROW EXECUTE FUNCTION torture_audit()
