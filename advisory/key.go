package advisory

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

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

// checkKey applies the engine's rules for names. InTx needs it, because the caller passes the name to InTx directly,
// so the engine has not checked the name.
func checkKey(key driver.Key) error {
	switch {
	case key.Name == "" || len(key.Name) > driver.MaxName:
		return fmt.Errorf("name of %d bytes: want 1 to %d", len(key.Name), driver.MaxName)
	case len(key.Namespace) > driver.MaxNamespace:
		return fmt.Errorf("namespace of %d bytes: want at most %d", len(key.Namespace), driver.MaxNamespace)
	}
	for _, part := range []string{key.Namespace, key.Name} {
		if !utf8.ValidString(part) {
			return fmt.Errorf("%q is not valid UTF-8", part)
		}
		if strings.IndexByte(part, 0) >= 0 {
			return fmt.Errorf("%q has a NUL byte", part)
		}
	}
	return nil
}
