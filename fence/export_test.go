package fence

import "time"

// SetSettleLimit sets the time limit for finding out the outcome of a commit.
func SetSettleLimit(g *Guard, limit time.Duration) { g.settleLimit = limit }
