package mysqlock

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// prefix is lower case like the whole name, because MySQL ignores case and MariaDB does not.
const prefix = "rowlock:"

// digits fill a name up to the 64 characters that MySQL allows.
const digits = 64 - len(prefix)

// LockName returns the name by which the server identifies the lock called name in namespace, for programs that use
// schema. It is "rowlock:" and the first 56 hexadecimal digits, in lower case, of the SHA-256 of the schema, a NUL
// byte, the namespace, a NUL byte and the name. No part contains a NUL byte, so two triples never give the same text.
// The schema is included because GET_LOCK names are global to the server. If the server ignores the case of schemas
// (lower_case_table_names), pass it in lower case.
//
// Use it in other programs that lock the same names with GET_LOCK. It does not change between versions.
func LockName(schema, namespace, name string) string {
	sum := sha256.Sum256([]byte(schema + "\x00" + namespace + "\x00" + name))
	return prefix + hex.EncodeToString(sum[:])[:digits]
}

// names are the parameters that identify a row.
func names(key driver.Key) []any {
	return []any{sqlbind.MySQLBytes(key.Namespace), sqlbind.MySQLBytes(key.Name)}
}
