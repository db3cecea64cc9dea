package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/sqlbase"

// SchemaError says that the lease table is missing or older than this version of the library. Its message names the
// command and the call that mend it; Table is the table's name, and Err, which Unwrap returns, what the database said.
type SchemaError = sqlbase.SchemaError
