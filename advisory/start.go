package advisory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

// Connect borrows a connection from the pool and checks that it can hold locks. A pgx connection remembers the result.
func (se *session) Connect(ctx context.Context) error {
	if se.conn != nil {
		return nil
	}
	c, err := se.store.source.open(ctx)
	if err != nil {
		se.Broken = err
		return driver.NotApplied(fmt.Errorf("get a connection from the pool: %w", err))
	}
	se.conn = c
	memory, key := c.memory(), "github.com/rowlock/rowlock/advisory/"+se.store.locks.Table.String()
	if se.store.opts.NoToken {
		key += " without token"
	}
	if known, ok := memory[key].(fit); ok {
		se.pid, se.timeline = known.pid, known.timeline
		return nil
	}
	found, err := se.examine(ctx)
	if err != nil {
		se.Broken = err
		return driver.NotApplied(fmt.Errorf("check a new connection: %w", err))
	}
	if unfit := se.unfit(ctx, found); unfit != nil {
		se.Broken = unfit
		return unfit
	}
	se.pid, se.timeline = uint32(found.pid), found.timeline //nolint:gosec // a process number
	if memory != nil {
		memory[key] = fit{se.pid, se.timeline}
	}
	return nil
}

// fit is the result of the check that a connection remembers.
type fit struct {
	pid      uint32
	timeline int64
}

// findings is the row that start.sql returns.
type findings struct {
	version           string
	pid               int64
	standby, readOnly bool
	timeline          int64
	sequence, mayUse  bool
}

// examine runs start.sql. A server that only imitates PostgreSQL may reject that statement. Then examine returns only
// the server's version.
func (se *session) examine(ctx context.Context) (f findings, err error) {
	var keepalive string
	err = se.query(ctx, "start", nil, &f.version, &f.pid, &f.standby, &f.readOnly, &f.timeline, &f.sequence, &f.mayUse, &keepalive)
	if state := sqlerror.State(err); strings.HasPrefix(state, "42") || strings.HasPrefix(state, "0A") {
		if asked := se.query(ctx, "version", nil, &f.version); asked == nil && sqlserver.Supported(f.version) != nil {
			return f, nil
		}
	}
	return f, err
}

// unfit returns why the connection cannot hold locks.
func (se *session) unfit(ctx context.Context, f findings) error {
	o, sequence := &se.store.opts, se.store.locks.Table.String()+"_token"
	if err := sqlserver.Supported(f.version); err != nil {
		return driver.Permanent(err)
	}
	switch {
	case f.standby:
		return driver.Permanent(errors.New("this server is a standby, and the primary does not see its locks: use a DSN that leads to the primary (target_session_attrs=read-write)"))
	case f.readOnly:
		return driver.Permanent(errors.New("this session is read-only (default_transaction_read_only): use a role or DSN that may write"))
	case !o.NoToken && !f.sequence:
		return driver.Permanent(&SchemaError{Sequence: sequence})
	case !o.NoToken && !f.mayUse:
		return driver.Permanent(fmt.Errorf("the role may not use the sequence %s: GRANT USAGE ON SEQUENCE %s to it", sequence, sequence))
	}
	pid, loginPID := uint32(f.pid), se.conn.loginPID() //nolint:gosec // a process number
	if loginPID == pid {
		return nil
	}
	if loginPID != 0 && !o.sessionPooler {
		return driver.Permanent(&PoolerError{Told: loginPID, PID: pid})
	}
	return se.probe(ctx, loginPID, pid)
}

// probes is how many times probe opens a second connection, to find out whether it gets the session's server process.
const probes = 5

// probe checks whether a pooler gives the session's server process to other clients between statements. A pooler in
// transaction mode gives an idle server process to the next client that needs one. Here that client is a second
// connection of the same pool, whose open transaction keeps the process. The pooler then runs the first connection's
// next statement in another server process.
func (se *session) probe(ctx context.Context, loginPID, pid uint32) error {
	shares := func(then int64) error {
		return driver.Permanent(&PoolerError{Told: loginPID, PID: pid, Then: uint32(then)}) //nolint:gosec // a process number
	}
	failed := func(err error) error {
		return driver.NotApplied(fmt.Errorf("check for a pooler in transaction mode: %w", err))
	}
	mine := driver.NewNonce().String()
	var at int64
	var trace string
	if err := se.query(ctx, "leave_trace", []any{mine}, &at, &trace); err != nil {
		return failed(err)
	}
	for range probes {
		other, found, err := se.intrude(ctx)
		if err == nil {
			err = se.query(ctx, "find_trace", nil, &at, &trace)
			if end := other.exec(ctx, "ROLLBACK"); end != nil {
				other.destroy()
			} else {
				other.giveBack()
			}
		}
		switch {
		case err != nil:
			return failed(err)
		case found.trace == mine || uint32(found.pid) == pid: //nolint:gosec // a process number
			return shares(found.pid)
		case trace != mine || uint32(at) != pid: //nolint:gosec // a process number
			return shares(at)
		}
	}
	if err := se.query(ctx, "leave_trace", []any{""}, &at, &trace); err != nil {
		return failed(err)
	}
	return nil
}

// intruder describes the server process in which the second connection of a probe runs: its id, and the text that
// leave_trace.sql has left in it.
type intruder struct {
	pid   int64
	trace string
}

// intrude opens a second connection, and begins a transaction on it that stays open.
func (se *session) intrude(ctx context.Context) (conn, intruder, error) {
	var found intruder
	other, err := se.store.source.open(ctx)
	if err != nil {
		return nil, found, err
	}
	if err = other.exec(ctx, "BEGIN"); err == nil {
		err = other.query(ctx, true, se.store.sql["find_trace"], nil, &found.pid, &found.trace)
	}
	if err != nil {
		other.destroy()
		return nil, found, err
	}
	return other, found, nil
}
