package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/sqlbase"

// SchemaError reports that the lease table is missing or older than this version of the library. Its message names the
// command and the call that fix it. Table is the table's name. Err, which Unwrap returns, is the database's error.
type SchemaError = sqlbase.SchemaError
