//go:build unix

package python_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/docs"
	"github.com/rowlock/rowlock/sqllock"
)

// Every Python block of every page runs without an exception, as a program of its own. A block that inherits its lease
// runs as the child of a process that holds the lock and has sealed the resource.
func TestPythonRuns(t *testing.T) {
	t.Parallel()
	all, err := docs.AllBlocks("../..")
	require.NoError(t, err)
	ran := 0
	for _, b := range all {
		if b.Language != "python" {
			continue
		}
		ran++
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			s := newStore(t, "postgres")
			dsn, db := s.url, s.db
			_, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL)")
			require.NoError(t, err)
			program := exec.CommandContext(t.Context(), python(t), "-c", strings.ReplaceAll(b.Text, "postgresql://localhost/app", dsn))
			program.Env = append(os.Environ(), "PYTHONPATH=.")
			if strings.Contains(b.Text, "from_environment") {
				locker, err := rowlock.New(sqllock.Postgres(db), rowlock.Fenced(fence.Postgres(db)))
				require.NoError(t, err)
				defer locker.Close()
				lease, err := locker.Acquire(t.Context(), "orders")
				require.NoError(t, err)
				program.Env = append(program.Env, "ROWLOCK_LEASE="+inherited(t, lease))
			}
			out, err := program.CombinedOutput()
			require.NoError(t, err, "%s\n%s", b, out)
		})
	}
	require.Greater(t, ran, 2)
}

// inherited answers the requests of a child for renewals, as "rowlock run" does. It returns the text of ROWLOCK_LEASE.
func inherited(t *testing.T, lease *rowlock.Lease) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "rowlock-") // the path of a socket must be short
	require.NoError(t, err)
	socket, err := net.Listen("unix", filepath.Join(folder, "s"))
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			keep(t, lease, conn)
		}
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-done
		_ = os.RemoveAll(folder)
	})
	return fmt.Sprintf(`{"version":1,"domain":%q,"namespace":"","name":%q,"token":"%d","nonce":%q,"holder":"","ttl_us":20000000,"keeper":%q}`,
		lease.Backend(), lease.Name(), lease.Token(), lease.Nonce(), socket.Addr())
}

// keep answers the requests of one connection of a child.
func keep(t *testing.T, lease *rowlock.Lease, conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var r struct {
			ID    int64
			Nonce string
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Nonce != lease.Nonce().String() {
			return
		}
		before := time.Now()
		if lease.Renew(t.Context()) != nil {
			return
		}
		fmt.Fprintf(conn, `{"id":%d,"trust_us":%d}`+"\n", r.ID, lease.ExpiresAt().Sub(before).Microseconds())
	}
}
