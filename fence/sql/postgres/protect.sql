-- Parameters: none; in place of 'rowlock namespace' and 'rowlock resource', the quoted names.
-- Result: none.
-- Promise: refuses every statement that writes to the table in a transaction without a check by the lease that sealed the resource last, however many rows it finds. Fails if there is such a trigger already.
CREATE TRIGGER rowlock_fence
BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON rowlock_protected
   FOR EACH STATEMENT EXECUTE FUNCTION rowlock_lease_fence_check('rowlock namespace', 'rowlock resource')
