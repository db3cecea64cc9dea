package mysqlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

// Connect borrows a connection from the pool and checks that it can hold locks. If the session already has a
// connection, Connect checks that the connection has not ended. If it has ended, no statement is sent, so no outcome
// is unknown.
func (se *session) Connect(ctx context.Context) error {
	if se.conn != nil {
		return se.look(ctx)
	}
	c, err := se.backend.open(ctx)
	if err != nil {
		se.Broken = err
		return driver.NotApplied(fmt.Errorf("get a connection from the pool: %w", err))
	}
	se.conn = c
	err = se.backend.examine(ctx, c)
	if err != nil {
		se.Broken = err
		if driver.IsPermanent(err) {
			return err
		}
		return driver.NotApplied(fmt.Errorf("check a new connection: %w", err))
	}
	return nil
}

// examine checks that c can hold locks, and sets its id and its schema. The connection holds no locks yet.
func (b *Backend) examine(ctx context.Context, c *conn) error {
	var version, server string
	var folds, readOnly, autocommit bool
	err := c.query(ctx, b.sql["start"], nil, &version, &server, &c.id, &c.schema, &folds, &readOnly, &autocommit)
	if err != nil {
		return err
	}
	if b.locks.Table.Schema() != "" {
		c.schema = b.locks.Table.Schema()
	}
	if folds {
		c.schema = strings.ToLower(c.schema)
	}
	if _, err := sqlserver.MySQL(version); err != nil {
		return driver.Permanent(err)
	}
	switch {
	case readOnly:
		return driver.Permanent(errReadOnly)
	case !autocommit:
		return driver.Permanent(errors.New("autocommit is off in the session: use a pool with autocommit on"))
	case c.schema == "":
		return driver.Permanent(errors.New("the connection has no schema, which is part of a lock's name: put one into the DSN, or use the option mysqlock.Table"))
	}
	b.mu.Lock()
	known, schema := b.server == server, b.schema
	b.mu.Unlock()
	if schema != "" && schema != c.schema {
		return driver.Permanent(fmt.Errorf("connections of the pool use schema %q and schema %q, but the schema is part of a lock's name: do not change it with USE", schema, c.schema))
	}
	if !known {
		if err := b.examineCluster(ctx, c); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server, b.schema = server, c.schema
	return nil
}

// examineCluster returns an error if other nodes have separate locks (Galera, several primaries), or if replicas would
// not get the same tokens through the binary log.
func (b *Backend) examineCluster(ctx context.Context, c *conn) error {
	settings := map[string]string{}
	err := c.rows(ctx, b.sql["cluster"], nil, func(rows *sql.Rows) error {
		var name, value string
		err := rows.Scan(&name, &value)
		settings[strings.ToLower(name)] = strings.ToUpper(value)
		return err
	})
	if err != nil {
		return err
	}
	return b.checkCluster(settings)
}

func (b *Backend) checkCluster(settings map[string]string) error {
	const remedy = "GET_LOCK excludes on one node only: use sqllock, or the option mysqlock.SingleWriter if every program connects to the same node"
	switch {
	case b.opts.cluster:
	case settings["wsrep_on"] == "ON":
		return driver.Permanent(errors.New("the server is a node of a Galera cluster (wsrep_on), and " + remedy))
	case settings["group_replication_group_name"] != "" && settings["group_replication_single_primary_mode"] == "OFF":
		return driver.Permanent(errors.New("the server is one of several primaries (group_replication_single_primary_mode=OFF), and " + remedy))
	}
	if !b.opts.NoToken && settings["log_bin"] == "ON" && settings["binlog_format"] == "STATEMENT" {
		return driver.Permanent(errors.New("binlog_format=STATEMENT: a replica would not get the tokens: set it to ROW or MIXED, or use the option mysqlock.NoToken"))
	}
	return nil
}
