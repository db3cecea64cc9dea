package fence

import (
	"errors"
	"fmt"
)

// ErrNoRow: [Guard.CheckRow] found no row with the key. Nothing is known of the lease: a row that is
// to be inserted gets the lease's token. The error is a [*NoRowError].
var ErrNoRow = errors.New("fence: no such row")

// NoRowError says which row there is not.
type NoRowError struct {
	Table  string
	Column string // the key column
	Key    any
}

func (e *NoRowError) Error() string {
	return fmt.Sprintf("fence: no such row: %s has none with %s = %s", e.Table, e.Column, keyText(e.Key))
}

// Is makes a *NoRowError an [ErrNoRow].
func (e *NoRowError) Is(target error) bool { return target == ErrNoRow }

// maxKeyText keeps a message readable whatever the key is.
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
