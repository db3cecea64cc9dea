package rowlock

// emit calls the function that pick chooses from each trace of cfg that has it.
func emit[E any](cfg *settings, pick func(*Trace) func(E), event E) {
	for _, t := range [...]*Trace{cfg.trace, cfg.log} {
		if t == nil {
			continue
		}
		if f := pick(t); f != nil {
			f(event)
		}
	}
}
