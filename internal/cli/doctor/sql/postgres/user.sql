-- Parameters: none.
-- Result: one row: this user, quoted as a statement needs it.
-- Promise: reads only.
SELECT pg_catalog.quote_ident(current_user::text)
