package job

// What became of a run.
const (
	Running  = "running" // it has started, and no end was written
	Exited   = "exited"
	TimedOut = "timeout"
	Lost     = "lost"
	Failed   = "failed" // the command could not be started
	Held     = "held"
	Skipped  = "skipped"
)
