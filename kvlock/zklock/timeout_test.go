package zklock_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/zklock"
)

// Promise 8 of docs/guarantees.md: the requested session timeout is twice the TTL, and the servers limit it to their
// minimum and maximum. After a crash the name stays held for at most the granted timeout plus the servers' tickTime. A
// lease is trusted for four tenths of the granted timeout, or for its TTL if the TTL is shorter.
func TestTheTimeoutIsTwiceTheTTL(t *testing.T) {
	addr := patient.alone(t).Addr
	least := number(t, addr, "conf", `minSessionTimeout=(\d+)`)
	most := number(t, addr, "conf", `maxSessionTimeout=(\d+)`)
	assert.Equal(t, 2*number(t, addr, "conf", `tickTime=(\d+)`), least, "the default")
	for _, c := range []struct{ ttl, trusted time.Duration }{
		{30 * time.Second, 24 * time.Second},
		{time.Millisecond * time.Duration(least) / 10, time.Millisecond * time.Duration(least) / 10}, // twice this TTL is less than the minimum timeout
		{time.Millisecond * time.Duration(most), time.Millisecond * time.Duration(most) * 4 / 10},
	} {
		b := zklock.New([]string{addr}, root())
		r := request("a")
		r.TTL = c.ttl
		g, err := b.Acquire(context.Background(), r)
		require.NoError(t, err)
		assert.Equal(t, c.trusted, g.TTL)
		granted := regexp.MustCompile(`,to=(\d+),`).FindStringSubmatch(fourLetters(t, addr, "cons"))
		require.NotNil(t, granted)
		ms, err := strconv.ParseInt(granted[1], 10, 64)
		require.NoError(t, err)
		assert.Equal(t, min(max(2*c.ttl.Milliseconds(), least), most), ms)
		b.Close()
		require.Eventually(t, func() bool { return !regexp.MustCompile(`,to=`).MatchString(fourLetters(t, addr, "cons")) }, 30*time.Second, time.Millisecond)
	}
}
