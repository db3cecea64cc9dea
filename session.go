package rowlock

import "context"

// watch ends le as soon as its session does.
func (le *Lease) watch() {
	if le.locker.sessions == nil {
		return
	}
	session := le.locker.sessions.Session(le.grant)
	stop := context.AfterFunc(session, func() { le.lose(LostSession) })
	le.mu.Lock()
	le.session, le.stopWatching = session, stop
	over := le.err != nil
	le.mu.Unlock()
	if over {
		stop()
	}
}

// unwatch lets go of the session of a lease that has ended.
func (le *Lease) unwatch() {
	le.mu.Lock()
	stop := le.stopWatching
	le.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// letSessionGo takes back at once what the store would keep for as long as the holder hangs: that is
// what a maximum hold is for. After other losses the name waits for the holder's Release, which is the
// safer way where the store itself does not take the name away.
func (le *Lease) letSessionGo(reason LostReason) (tell func()) {
	if le.locker.sessions != nil && reason == LostMaxHold {
		return le.locker.janitor.take(le.leftover())
	}
	return func() {}
}
