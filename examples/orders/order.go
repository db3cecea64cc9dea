// Package orders is an example to copy: a repository on database/sql whose writes the database refuses
// when their author has lost the lock without knowing it. Callers hold a lock and pass its context;
// the repository's methods have no parameter for it.
package orders

import "embed"

// Order is what a customer has ordered. Its total is that of its lines.
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
	Price    int64 // in cents, of one
}

// Migrations are the tables of this package, for goose. Those of the fence come from package
// migrations of rowlock.
//
//go:embed migrations/*.sql
var Migrations embed.FS
