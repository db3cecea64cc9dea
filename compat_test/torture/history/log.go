package history

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Log is what one process writes. Each event is one write to the system, which survives the process.
type Log struct {
	mu     sync.Mutex
	file   *os.File
	worker int
}

// OpenLog begins the log of a worker in the folder of the run; 0 is the supervisor. It fails if the folder has a run's history already:
// two histories that are taken for one break every property.
func OpenLog(folder string, worker int) (*Log, error) {
	file, err := os.OpenFile(LogFile(folder, worker), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	return &Log{file: file, worker: worker}, err
}

// Write writes an event; At is now unless it is set. What cannot be written ends the process: a history with a hole
// proves nothing.
func (l *Log) Write(e Event) {
	if e.Wall == 0 {
		e.Wall = time.Now().UnixNano() // before the other clock, so that UntilWall is never too late
	}
	if e.At == 0 {
		e.At = Now()
	}
	if e.Worker == 0 {
		e.Worker = l.worker
	}
	line, err := json.Marshal(e)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// Close ends it.
func (l *Log) Close() error { return l.file.Close() }

// Now is the machine's monotonic clock, the same for all processes.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
