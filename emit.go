package rowlock

// emit calls the function that pick chooses from each trace of cfg that has it.
func emit[E any](cfg *settings, pick func(*Trace) func(E), event E) {
	for _, t := range cfg.traces {
		tell(t, pick, event)
	}
	tell(cfg.log, pick, event)
}

func tell[E any](t *Trace, pick func(*Trace) func(E), event E) {
	if t == nil {
		return
	}
	if f := pick(t); f != nil {
		f(event)
	}
}
