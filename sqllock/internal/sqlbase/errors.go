package sqlbase

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// SchemaError reports that the lease table is missing or older than this version of the library. The message names
// the command and the function that fix the table.
type SchemaError struct {
	Table string
	Err   error // the database's error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("sqllock: table %s is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %v", e.Table, e.Err)
}

// Unwrap returns the database's error.
func (e *SchemaError) Unwrap() error { return e.Err }

// MetaMissing returns the error for a meta table without the row that the migration inserts.
func MetaMissing(t sqltable.Table) error {
	return driver.Permanent(&SchemaError{Table: t.String(), Err: errors.New("the row of its meta table is missing")})
}

// Settled reports whether err is nil or already an error of the driver contract: [driver.ErrNotHeld] or *driver.Held.
func Settled(err error) bool {
	var held *driver.Held
	return err == nil || errors.Is(err, driver.ErrNotHeld) || errors.As(err, &held)
}

// Describe adds the operation and the key to err. If ctx has ended and err does not contain ctx.Err(), Describe adds
// that error.
func Describe(ctx context.Context, operation string, key driver.Key, err error) error {
	if key.Name != "" {
		operation = fmt.Sprintf("%s %q", operation, key)
	}
	err = fmt.Errorf("sqllock: %s: %w", operation, err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
