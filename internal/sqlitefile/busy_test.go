package sqlitefile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// These types imitate the errors of three drivers: modernc.org/sqlite, github.com/mattn/go-sqlite3 and
// github.com/ncruces/go-sqlite3.
type moderncError struct{ code int }

func (e *moderncError) Error() string { return "" }
func (e *moderncError) Code() int     { return e.code }

type (
	mattnNo         int
	mattnNoExtended int
	mattnError      struct {
		Code         mattnNo
		ExtendedCode mattnNoExtended
	}
)

func (mattnError) Error() string { return "" }

type (
	ncrucesCode         uint8
	ncrucesExtendedCode uint16
	ncrucesError        struct{ code uint16 }
)

func (e *ncrucesError) Error() string                     { return "" }
func (e *ncrucesError) Code() ncrucesCode                 { return ncrucesCode(e.code & 0xff) }
func (e *ncrucesError) ExtendedCode() ncrucesExtendedCode { return ncrucesExtendedCode(e.code) }

// Busy recognises the result codes in the errors of all three drivers.
func TestSQLiteCodesOfAnyDriver(t *testing.T) {
	for _, err := range []error{
		&moderncError{517}, mattnError{5, 517}, &mattnError{5, 517}, &ncrucesError{517},
		fmt.Errorf("wrapped: %w", mattnError{5, 517}), errors.Join(errors.New("other"), &ncrucesError{517}),
	} {
		assert.Equal(t, CodeBusySnapshot, sqlerror.SQLite(err), "%T", err)
		assert.True(t, Busy(err), "%T", err)
	}
	for _, err := range []error{nil, errors.New("database is locked"), &moderncError{1}, mattnError{1, 1}} {
		assert.False(t, Busy(err), "%T", err)
	}
	assert.Equal(t, 1, sqlerror.SQLite(&moderncError{1}))
}
