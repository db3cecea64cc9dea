package demo

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/migrations"
)

// writeLateByScript repeats worker A's stale write with psql. The parameter checks are the statements that "rowlock sql
// check" printed while A had the lock. The database must reject the script.
func (s *pauseStory) writeLateByScript(ctx context.Context, checks []string, amount int64) error {
	if s.store.At.Dialect != migrations.Postgres {
		return nil
	}
	psql, err := exec.LookPath("psql")
	if err != nil {
		s.says.a("has no psql: skips its script")
		return nil
	}
	address, password := withoutPassword(s.store.At.PostgresURL)
	if strings.Contains(address, "password") {
		s.says.a("skips its psql script: other users could read the password")
		return nil
	}
	s.says.a("runs a psql script, also too late")
	args := []string{"-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "--single-transaction"}
	for _, check := range checks {
		args = append(args, "-c", check)
	}
	args = append(args, "-c", fmt.Sprintf("UPDATE rowlock_demo SET amount = %d WHERE name = '%s'", amount, balance))
	cmd := exec.CommandContext(ctx, psql, args...)
	cmd.Args = append(cmd.Args, "-d", address)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	output, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return exit.Failf(exit.Internal, "the fence let the stale write of a psql script through")
	case strings.Contains(string(output), "rowlock: stale"):
		s.says.a("REJECTED by the fence: psql stops")
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		reason, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
		s.says.a("psql cannot run the script: " + reason)
		return nil
	}
}

// withoutPassword returns the address without the password of its user, because other users can see the arguments of a
// process.
func withoutPassword(address string) (without, password string) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address, ""
	}
	password, _ = u.User.Password()
	u.User = url.User(u.User.Username())
	return u.String(), password
}
