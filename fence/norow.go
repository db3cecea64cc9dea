package fence

import (
	"errors"
	"fmt"
)

// ErrNoRow means that [Guard.CheckRow] found no row with the key. ErrNoRow does not mean that the lease has ended.
// Insert a new row with the lease's token. The error is a [*NoRowError].
var ErrNoRow = errors.New("fence: no such row")

// NoRowError says that no row has the key.
type NoRowError struct {
	Table  string
	Column string // the key column
	Key    any
}

func (e *NoRowError) Error() string {
	return fmt.Sprintf("fence: no such row: %s has none with %s = %s", e.Table, e.Column, keyText(e.Key))
}

// Is reports that a *NoRowError is an [ErrNoRow].
func (e *NoRowError) Is(target error) bool { return target == ErrNoRow }

// maxKeyText is the length in bytes to which messages shorten a key.
const maxKeyText = 80

func keyText(key any) string {
	var s string
	switch key := key.(type) {
	case []byte:
		s = fmt.Sprintf("0x%x", key)
	case string:
		s = fmt.Sprintf("%q", key)
	default:
		s = fmt.Sprint(key)
	}
	if len(s) > maxKeyText {
		s = s[:maxKeyText] + "…"
	}
	return s
}
