//go:build unix && !aix && !solaris

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/locktest"
)

// asCommand is an environment variable. If it is set, the test binary runs as the command.
const asCommand = "ROWLOCK_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// The store keeps every promise of the contract.
func TestConformance(t *testing.T) {
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return harness{tb.TempDir()} })
}

// When one process releases the name, a waiting process is granted the name with a larger token.
func TestTwoProcesses(t *testing.T) {
	folder := t.TempDir()
	holder := exec.CommandContext(t.Context(), os.Args[0], folder, "nightly")
	holder.Env = append(os.Environ(), asCommand+"=1")
	output, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	var token driver.Token
	if _, err := fmt.Fscanf(output, "nightly: held with token %d\n", &token); err != nil {
		t.Fatal(err)
	}
	waits := rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { _ = holder.Process.Signal(os.Interrupt) }})
	locker, err := rowlock.New(New(folder), waits)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Close() }()
	lease, err := locker.Acquire(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	if lease.Token() <= token {
		t.Fatalf("token %d was granted after %d", lease.Token(), token)
	}
	_ = holder.Wait() // the error is expected: the process was interrupted
}

// If the folder is missing, Acquire returns an error that a retry cannot fix. If the path is empty,
// rowlock.New returns an error.
func TestAMissingFolderIsPermanent(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "missing"))
	_, err := s.Acquire(t.Context(), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute})
	if !driver.IsPermanent(err) || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("want a permanent error, got %v", err)
	}
	if _, err := rowlock.New(New("")); err == nil {
		t.Fatal("an empty path is accepted")
	}
}
