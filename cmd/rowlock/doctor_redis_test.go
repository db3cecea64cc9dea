//go:build unix

package main

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testserver"
)

// With the privileges that the pages recommend, doctor finds no problem. If one of these privileges is missing, doctor
// names it.
func TestDoctorNamesEachMissingPrivilegeOnRedis(t *testing.T) {
	t.Parallel()
	w, s := newWorkplace(t), startDurable(t, testserver.Redis)
	_, port, err := net.SplitHostPort(s.Addr)
	require.NoError(t, err)
	root := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer root.Close()
	setUser := func(rules ...string) {
		t.Helper()
		args := []any{"ACL", "SETUSER"}
		for _, rule := range rules {
			args = append(args, rule)
		}
		require.NoError(t, root.Do(t.Context(), args...).Err())
	}
	for page, store := range map[string]string{
		"redis.md":   "redis://locks:secret@" + s.Addr,
		"redlock.md": "redlock://locks:secret@" + s.Addr + ",localhost:" + port + ",[::ffff:127.0.0.1]:" + port,
	} {
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		found := regexp.MustCompile("`ACL SETUSER (locks [^`]*)`").FindStringSubmatch(string(text))
		require.Len(t, found, 2, page)
		rules := strings.Fields(found[1])
		setUser(rules[0], "reset")
		setUser(rules...)
		_, d := w.doctor(t, store)
		assert.Contains(t, d.text(), "this user has all privileges that a lock needs", page)
		for _, rule := range rules {
			command, isCommand := strings.CutPrefix(rule, "+")
			if !isCommand || command == "@connection" || command == "unsubscribe" {
				continue // doctor does not ask for these: nothing works without the first, and a lock works without the second
			}
			setUser("locks", "-"+command)
			found, d := w.doctor(t, store)
			assert.Contains(t, found, "problem privileges", "%s without %s: %s", page, command, d.text())
			assert.Contains(t, strings.ToLower(d.text()), command, page)
			setUser("locks", "+"+command)
		}
	}
}
