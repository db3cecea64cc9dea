package advisory

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/rowlock/rowlock/driver"
)

// Key returns the number by which PostgreSQL identifies the lock called name in namespace: the first eight bytes,
// big-endian, of the SHA-256 of "rowlock advisory", a NUL byte, the namespace, a NUL byte and the name.
// Neither the namespace nor the name contains a NUL byte, so two different pairs never give the same input
// to the hash.
//
// Programs that use PostgreSQL directly can lock the same names with the numbers of Key.
// The numbers do not change between versions.
func Key(namespace, name string) int64 {
	sum := sha256.Sum256([]byte("rowlock advisory\x00" + namespace + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // every bit pattern is a key
}

func keyOf(k driver.Key) int64 { return Key(k.Namespace, k.Name) }
