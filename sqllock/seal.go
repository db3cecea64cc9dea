package sqllock

import "github.com/rowlock/rowlock/driver"

// Capabilities implements [driver.Backend]. SealsAt is the database and table by which a guard of package fence is recognised
// as one whose marks a grant can raise in its own step: made with the same handle and the same [Table]. It is the zero
// Place on MySQL and MariaDB, where no statement changes both rows without the server's own wait for
// locks, during which the lock's row would be closed to everybody.
func (b *Backend) Capabilities() driver.Capabilities {
	c := b.dialect.Capabilities()
	c.SealsAt = b.sealsAt
	return c
}

// sealing makes b honour driver.Request.Seal for guards of the same handle.
func (b *Backend) sealing(db any) *Backend {
	if b.err == nil {
		b.sealsAt = driver.Place{DB: db, Table: b.table.String()}
	}
	return b
}
