package history

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Log is the log of one process. Each event is one write to the operating system, so the event survives the process.
type Log struct {
	mu     sync.Mutex
	file   *os.File
	worker int
}

// OpenLog begins the log of a worker in the folder of the run. The number 0 means the supervisor. OpenLog fails if the folder
// already contains the history of a run: two mixed histories would violate every property.
func OpenLog(folder string, worker int) (*Log, error) {
	file, err := os.OpenFile(LogFile(folder, worker), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	return &Log{file: file, worker: worker}, err
}

// Write writes an event. If At is not set, Write sets it to the present time. If an event cannot be written, the process ends,
// because a history with a gap proves nothing.
func (l *Log) Write(e Event) {
	if e.Wall == 0 {
		e.Wall = time.Now().UnixNano() // read before the monotonic clock, so that UntilWall is never too late
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

// Close closes the log's file.
func (l *Log) Close() error { return l.file.Close() }

// Now returns the time of the machine's monotonic clock, which all processes share.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
