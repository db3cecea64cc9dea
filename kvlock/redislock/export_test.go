package redislock

// Settle waits for what runs in the background, while no call does.
func (r *Redlock) Settle() { r.work.wait() }
