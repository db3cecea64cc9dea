-- Parameters: $1 the channel; $2 the payload of the notification.
-- Result: one row.
-- Promise: notifies every session that listens on the channel. The commit needs no flush.
SELECT 1 FROM (SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)) told
