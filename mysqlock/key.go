package mysqlock

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// prefix begins each lock name. The whole name is in lower case, because MySQL ignores case and MariaDB does not.
const prefix = "rowlock:"

// digits is the number of hexadecimal digits after the prefix. Together they have 64 characters,
// the most that MySQL allows.
const digits = 64 - len(prefix)

// LockName returns the name by which the server identifies the lock called name in namespace, for programs
// that use schema. It is "rowlock:" and the first 56 hexadecimal digits, in lower case, of the SHA-256 of the schema,
// a NUL byte, the namespace, a NUL byte and the name. No part contains a NUL byte, so two different triples never
// give the same input to the hash. The schema is included because GET_LOCK names are global to the server.
// If the server ignores the case of schemas (lower_case_table_names), pass the schema in lower case.
//
// Programs that use GET_LOCK directly can lock the same names with the result of LockName.
// The result does not change between versions.
func LockName(schema, namespace, name string) string {
	sum := sha256.Sum256([]byte(schema + "\x00" + namespace + "\x00" + name))
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// names returns the parameters of a statement that identify key's row.
func names(key driver.Key) []any {
	return []any{sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)}
}
