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
// all clients. The driver sends each command with one write: four bytes of length and sequence number, then the command.
// https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html
func openCounted(t *testing.T, dsn string, sent *atomic.Int64) *sql.DB {
	t.Helper()
	const query, execute = 3, 23
	return openMeasured(t, dsn, func(packet []byte) {
		if len(packet) > 4 && packet[3] == 0 && (packet[4] == query || packet[4] == execute) {
			sent.Add(1)
		}
	})
}

// openMeasured returns a pool that passes each packet that it sends to the function see.
func openMeasured(t *testing.T, dsn string, see func(packet []byte)) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return measuredLink{conn.(*net.TCPConn), see}, nil
	}
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// measuredLink is a connection that passes each write to the function see.
type measuredLink struct {
	*net.TCPConn

	see func(packet []byte)
}

func (m measuredLink) Write(packet []byte) (int, error) {
	m.see(packet)
	return m.TCPConn.Write(packet)
}
