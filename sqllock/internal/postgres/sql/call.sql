-- Parameters: $1 a channel, $2 the id of a waiter, or an empty text.
-- Result: one row.
-- Promise: notifies every session that listens on the channel; needs no flush.
SELECT 1 FROM (SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)) told
