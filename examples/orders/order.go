// Package orders is an example to copy: a repository on database/sql. The database rejects the writes of a caller
// that has lost its lock without noticing. Callers hold a lock and pass the context of its lease.
// The repository's methods need no other parameter for the lock.
package orders

import "embed"

// Order is a customer's order. Its total is the sum of its lines.
type Order struct {
	ID       int64
	Customer string
	Total    int64 // in cents
	Lines    []Line
}

// Line is one item of an order.
type Line struct {
	Product  string
	Quantity int64
	Price    int64 // in cents, for one item
}

// Migrations contains the tables of this package, for goose. The tables of the fence come from rowlock's package
// migrations.
//
//go:embed migrations/*.sql
var Migrations embed.FS
