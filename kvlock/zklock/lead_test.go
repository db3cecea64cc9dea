package zklock

import (
	"fmt"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// A reader that waited behind a writer that gave up may be the first of the queue, while the readers of the earlier epoch
// still hold the lock. The holder is then one of those readers. The other readers, and later writers, wait for them. A
// reader without an epoch that is not the first waits like a writer.
func TestTheReadersOfTheEarliestEpochHold(t *testing.T) {
	t.Parallel()
	name := func(epoch driver.Token, kind string, sequence int) string {
		if epoch == 0 {
			return fmt.Sprintf("%s%s%s%010d", protected, driver.NewNonce(), kind, sequence)
		}
		return fmt.Sprintf("%s%s-%0*x%s%010d", protected, driver.NewNonce(), epochDigits, int64(epoch), kind, sequence)
	}
	waits, one, two, writer, last := name(9, sharing, 1), name(5, sharing, 2), name(5, sharing, 3), name(0, sharing, 4), name(12, sharing, 5)
	q := queue([]string{last, two, writer, one, waits})
	if got := lead(q); got.node != one {
		t.Errorf("the holder is %q, want %q", got.node, one)
	}
	if got := readers(q, 5); len(got) != 2 || got[0].node != one || got[1].node != two {
		t.Errorf("the readers are %v", got)
	}
	for index, want := range [][]string{{one, two}, nil, nil, {waits, one, two}, {waits, one, two, writer}} {
		var got []string
		for _, p := range blockers(q, index) {
			got = append(got, p.node)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q waits for %q, want %q", q[index].node, got, want)
		}
	}
}
