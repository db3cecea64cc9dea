-- Parameters: none. Result: one row: the name of this user, quoted for a statement. Promise: reads only.
SELECT pg_catalog.quote_ident(current_user::text)
