package job

// The outcomes of a run in the history.
const (
	Running  = "running" // the run has started, and no end is recorded
	Exited   = "exited"
	TimedOut = "timeout"
	Lost     = "lost"
	Failed   = "failed" // the command could not be started
	Done     = "done"   // an earlier run has succeeded for the tick
	Held     = "held"
	Skipped  = "skipped"
)
