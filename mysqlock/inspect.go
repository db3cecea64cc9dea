package mysqlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// record is what the server knows about a lock: the connection that holds it, and its last grant with a token.
type record struct {
	key         driver.Key
	readOnly    bool          // if the server is read-only, it is not the primary, and its locks do not exclude those of the primary
	heldBy      sql.NullInt64 // the id of the connection that holds the lock
	who, whence sql.NullString
	token       sql.NullInt64
	grantedTo   sql.NullInt64 // the id of the connection of the last grant
	holder      sql.NullString
	note        sql.NullString
	age         sql.NullInt64 // in microseconds
}

// present reports whether the lock is still held by its last grant with a token.
func (r *record) present() bool { return r.heldBy.Valid && r.heldBy == r.grantedTo }

// name returns the holder's name. If the current holder has no token, its name is unknown. The method then describes
// the connection that holds the lock.
func (r *record) name() string {
	if r.present() || !r.heldBy.Valid {
		return r.holder.String
	}
	s := fmt.Sprintf("connection %d", r.heldBy.Int64)
	if r.who.String != "" {
		s += " of " + r.who.String
	}
	if r.whence.String != "" {
		s += " from " + r.whence.String
	}
	return s
}

// status returns the record in the form that inspectors return. Fields of the current grant that are unknown are
// empty.
func (r *record) status() driver.Status {
	s := driver.Status{Key: r.key, Holder: r.name()}
	if r.heldBy.Valid {
		s.State = driver.StateHeld
	}
	if r.present() || !r.heldBy.Valid {
		s.Token, s.Note = driver.Token(r.token.Int64), r.note.String
		s.Age = time.Duration(r.age.Int64) * time.Microsecond
	}
	return s
}

func (r *record) refusal() *driver.Held {
	s := r.status()
	return &driver.Held{Reason: driver.Leased, Holder: s.Holder, Note: s.Note, Token: s.Token, Since: s.Age}
}

// record queries the record of key. The caller has checked the connection with examine.
func (b *Backend) record(ctx context.Context, c *conn, key driver.Key) (*record, error) {
	r := &record{key: key}
	lock := LockName(c.schema, key.Namespace, key.Name)
	if !b.opts.NoToken {
		err := c.query(ctx, b.sql["record"], append([]any{lock}, names(key)...), &r.readOnly, &r.heldBy, &r.token, &r.grantedTo, &r.holder, &r.note, &r.age)
		if err != nil || r.present() || !r.heldBy.Valid {
			return r, err
		}
	}
	return r, c.query(ctx, b.sql["holder"], []any{lock}, &r.readOnly, &r.heldBy, &r.who, &r.whence)
}

// look borrows a connection from the pool, checks it, and calls work with it.
func (b *Backend) look(ctx context.Context, work func(c *conn) error) error {
	if err := b.locks.Ready(ctx); err != nil {
		return err
	}
	c, err := b.open(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	if err = b.examine(ctx, c); err == nil {
		err = work(c)
	}
	if err != nil && !driver.IsPermanent(err) && !plain(ctx, err) {
		c.destroy()
	} else {
		c.giveBack()
	}
	return err
}

// List implements [driver.Operator]. It returns every lock that was ever granted with a token and not pruned since.
// With NoToken it returns only the locks that this backend holds, because the server stores only hashes of names.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	if b.opts.NoToken {
		return b.mine(namespace, all), b.locks.Ready(ctx)
	}
	list := []driver.Status{}
	err := b.look(ctx, func(c *conn) error {
		return c.rows(ctx, b.sql["list"], []any{sqlbind.MySQLBytes(c.schema), all, sqlbind.MySQLBytes(namespace)}, func(rows *sql.Rows) error {
			var r record
			err := rows.Scan(&r.key.Namespace, &r.key.Name, &r.heldBy, &r.token, &r.grantedTo, &r.holder, &r.note, &r.age, &r.who, &r.whence)
			list = append(list, r.status())
			return err
		})
	})
	return list, b.locks.Explain(ctx, "list", driver.Key{Namespace: namespace}, err)
}

// Inspect implements [driver.Operator]. For a lock that is held without a token it reports the connection, and its user
// and host if the caller may see them (PROCESS).
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s := driver.Status{Key: key}
	err := b.look(ctx, func(c *conn) error {
		r, err := b.record(ctx, c, key)
		s = r.status()
		return err
	})
	return s, b.locks.Explain(ctx, "inspect", key, err)
}

// Pause implements [driver.Operator]. Pause is not supported, because a pause would have to outlast its connection.
func (b *Backend) Pause(context.Context, driver.Grant, driver.Nonce) error {
	return driver.Permanent(fmt.Errorf("mysqlock cannot pause a name: %w", errors.ErrUnsupported))
}
