package etcdlock_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// If a cluster is restored from a snapshot with --bump-revision, as the documentation says, all new tokens are larger
// than old tokens. After the restore, the locks are those of the snapshot. Without --bump-revision, tokens step back,
// so the documentation requires this option.
func TestARestoredSnapshot(t *testing.T) {
	t.Parallel()
	s := aloneWith(t, testserver.Options{})
	b := etcdlock.New(connect(t, s.DSN))
	kept, err := b.Acquire(t.Context(), request("kept"))
	require.NoError(t, err)
	snapshot := takeSnapshot(t, s)
	lost, err := b.Acquire(t.Context(), request("lost"))
	require.NoError(t, err)
	require.Greater(t, lost.Token, kept.Token)

	restore(t, s, snapshot)
	again, err := etcdlock.New(connect(t, s.DSN)).Acquire(t.Context(), request("lost"))
	require.NoError(t, err)
	require.LessOrEqual(t, again.Token, lost.Token, "tokens did not step back: correct the documentation")

	restore(t, s, snapshot, "--bump-revision=1000000000", "--mark-compacted")
	var outcomes []driver.Outcome
	require.Eventually(t, func() bool { // retries until the client has reconnected
		outcomes, err = b.Renew(t.Context(), []driver.Grant{kept, lost})
		return err == nil && outcomes[0] != driver.Unknown && outcomes[1] != driver.Unknown
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, []driver.Outcome{driver.Renewed, driver.Lost}, outcomes)
	next, err := b.Acquire(t.Context(), request("lost"))
	require.NoError(t, err)
	require.Greater(t, next.Token, lost.Token)
	require.ErrorIs(t, b.Release(t.Context(), lost), driver.ErrNotHeld)
	require.NoError(t, b.Release(t.Context(), kept))
}

func takeSnapshot(t *testing.T, s *testserver.Server) string {
	t.Helper()
	reply, err := connect(t, s.DSN).Snapshot(t.Context())
	require.NoError(t, err)
	defer reply.Close()
	content, err := io.ReadAll(reply)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "snapshot")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// restore replaces a server's data with a snapshot.
func restore(t *testing.T, s *testserver.Server, snapshot string, options ...string) {
	t.Helper()
	program, err := testserver.Etcdutl(t.Context(), testserver.Options{Logf: t.Logf})
	require.NoError(t, err)
	s.Kill()
	const peer = "http://127.0.0.1:0"
	name, data := filepath.Base(s.Folder), filepath.Join(s.Folder, "data")
	require.NoError(t, os.RemoveAll(data))
	restoring := exec.CommandContext(t.Context(), program, append([]string{
		"snapshot", "restore", snapshot, "--data-dir=" + data, "--name=" + name,
		"--initial-cluster=" + name + "=" + peer, "--initial-advertise-peer-urls=" + peer,
	}, options...)...)
	said, err := restoring.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NoError(t, s.Restart(t.Context()))
}
