package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/sqlbase"

// SchemaError reports that the lease table is missing or older than this version of the library. The message names
// the command and the function that fix the table. Table is the table's name. Err is the database's error, which
// Unwrap also returns.
type SchemaError = sqlbase.SchemaError
