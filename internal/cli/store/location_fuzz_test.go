package store

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// No malformed store address shows its password or crashes the command.
func FuzzParseLocation(f *testing.F) {
	const secret = "s3cr3t-p4ss"
	for _, s := range []string{
		"postgres://me:" + secret + "@db/app", "mysql://me:" + secret + "@db:3306/app?x=y", "me:" + secret + "@tcp(db)/app",
		"postgres://me:" + secret + "@[::1", "mysql://:" + secret + "@/%zz", "redis://:" + secret + "@db/1?prefix=a", "redis+cluster://me:" + secret + "@a:1,b", "redlock://:" + secret + "@a,b,c?max_ttl=1m", "zk://me:" + secret + "@a,b/root", "etcds://me:" + secret + "@a,b:2/?ca=f", "sqlite:locks.db", "sqlite://host/x", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := parseLocation(s)
		if err != nil {
			assert.NotContains(t, err.Error(), secret)
			return
		}
		if l.Path == "" && strings.Contains(s, ":"+secret+"@") && strings.Count(s, secret) == 1 {
			assert.NotContains(t, l.Shown, secret)
		}
	})
}
