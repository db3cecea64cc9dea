-- Parameters: none; 'rowlock namespace' and 'rowlock resource' are replaced by the quoted names.
-- Result: none.
-- Promise: rejects every statement that writes to the table in a transaction without a check by the lease that sealed the resource last, even if the statement changes no row. Fails if such a trigger exists.
CREATE TRIGGER rowlock_fence
BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON rowlock_protected
   FOR EACH STATEMENT EXECUTE FUNCTION rowlock_lease_fence_check('rowlock namespace', 'rowlock resource')
