package mysqlock

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// prefix is lower case, as the whole name is: MySQL does not tell the cases apart, MariaDB does.
const prefix = "rowlock:"

// digits fill a name up to the 64 characters that MySQL allows.
const digits = 64 - len(prefix)

// LockName is the name by which the server knows the lock called name in namespace, for programs that
// use schema: "rowlock:" and the first 56 hexadecimal digits, in lower case, of the SHA-256 of the
// schema, a NUL byte, the namespace, a NUL byte and the name. No part has a NUL byte, so no two
// triples are joined to one text. The schema is in it because such locks are the server's, not a
// schema's; where the server folds the case of schemas (lower_case_table_names), it is in lower case.
//
// It is for other programs that take the same locks with GET_LOCK. It does not change between versions.
func LockName(schema, namespace, name string) string {
	sum := sha256.Sum256([]byte(schema + "\x00" + namespace + "\x00" + name))
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// names are the parameters that say which row.
func names(key driver.Key) []any {
	return []any{sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)}
}
