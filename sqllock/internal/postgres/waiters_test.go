package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// A process with waiters that poll writes their row once a second, because a release ignores older rows. If the waiters
// rely on notifications, the process writes the row every 30 seconds.
func TestTheRowOfAWaiterIsWrittenAtEachTick(t *testing.T) {
	r, _, _ := waited()
	s := &waiters{rows: map[driver.Key]*row{r.key: r}}
	due, idle := s.due(false, true, nil)
	assert.Empty(t, due.stay)
	assert.False(t, idle)
	refused := sqlbase.Answer{Verdict: sqlbase.Leased}
	for range 3 {
		s.answered(r, refused, true) // it polls, because the listener does not listen
		due, idle = s.due(true, true, nil)
		assert.Equal(t, []*row{r}, due.stay)
		assert.False(t, idle)
		<-r.writing // as the listener does after it has written the row
	}
	s.listener.state = listenHearing
	s.answered(r, refused, true)
	due, _ = s.due(true, true, nil)
	assert.Empty(t, due.stay)
	r.at = time.Now().Add(-listedEvery)
	due, _ = s.due(true, true, nil)
	assert.Equal(t, []*row{r}, due.stay)
}

// After a hand-over within the process, no release notifies the process until it is refused again.
func TestAHandOverTakesTheRowOutOfTheQueue(t *testing.T) {
	r, _, _ := waited()
	s := &waiters{rows: map[driver.Key]*row{r.key: r}}
	assert.Equal(t, r.id, s.callable(r.key))
	s.granted(driver.Key{Name: "another"})
	assert.Equal(t, r.id, s.callable(r.key))
	s.granted(r.key)
	assert.Nil(t, s.callable(r.key))
}
