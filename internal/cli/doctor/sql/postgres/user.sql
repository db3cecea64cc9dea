-- Parameters: none.
-- Result: one row: this user, quoted for a statement.
-- Promise: reads only.
SELECT pg_catalog.quote_ident(current_user::text)
