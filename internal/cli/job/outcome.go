package job

// The outcomes of a run.
const (
	Running  = "running" // it has started, and no end was recorded
	Exited   = "exited"
	TimedOut = "timeout"
	Lost     = "lost"
	Failed   = "failed" // the command could not be started
	Held     = "held"
	Skipped  = "skipped"
)
