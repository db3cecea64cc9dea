package sqllock_test

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openCounted returns a pool that counts the statements it sends. The server's own counter includes the statements of
// all clients.
func openCounted(t *testing.T, dsn string, sent *atomic.Int64) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return countedLink{conn.(*net.TCPConn), sent}, nil
	}
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// countedLink is a connection that counts the commands that run a statement. The driver sends each command with one
// write: four bytes of length and sequence number, then the command.
// https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html
type countedLink struct {
	*net.TCPConn

	sent *atomic.Int64
}

func (c countedLink) Write(packet []byte) (int, error) {
	const query, execute = 3, 23
	if len(packet) > 4 && packet[3] == 0 && (packet[4] == query || packet[4] == execute) {
		c.sent.Add(1)
	}
	return c.TCPConn.Write(packet)
}
