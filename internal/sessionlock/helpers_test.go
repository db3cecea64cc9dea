package sessionlock

// counted is the link of a session that has no connection. It counts how often the connection was returned.
type counted struct {
	Link[int]
	returned *int
}

func (counted) Ended() bool { return false }

func (counted) Unwatch() {}

func (c counted) GiveBack() { *c.returned++ }
