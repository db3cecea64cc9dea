package main

// The function inheriting returns a suite with tests of package inherit.
func inheriting(names ...string) []suite { return []suite{{"internal/inherit", names}} }

// inherited lists defects in the code by which a process inherits the lease of its "rowlock run".
var inherited = []mutant{
	{"the trust of a child counts from the answer, not from the request", "trust ends first, S3",
		in("internal/inherit", "Backend.Acquire", "trust, err := conn.ask(ctx, b.lease.Nonce.String())",
			"asked := time.Now(); trust, err := conn.ask(ctx, b.lease.Nonce.String()); trust += time.Since(asked)", "time"),
		inheriting("TestAChildTrustsNoLongerThanItsParent")},
	{"the parent answers a child without a renewal", "trust ends first, S3",
		in("internal/inherit", "Server.renew", "s.lease.Renew(s.over)", "s.over.Err()"),
		inheriting("TestAChildTrustsNoLongerThanItsParent")},
	{"a renewal answers a request of a child that arrived after it was sent", "trust ends first, S3",
		in("internal/inherit", "Server.renew", "s.next = nil s.mu.Unlock() defer close(r.done)",
			"s.mu.Unlock(); defer func() { s.mu.Lock(); s.next = nil; s.mu.Unlock(); close(r.done) }()"),
		inheriting("TestOneRenewalAnswersManyChildren")},
	{"the end of the connection to the parent does not end the lease of the child", "trust ends first, S8",
		in("internal/inherit", "connection.read", "defer c.end(ErrGone)", ""),
		inheriting("TestTheEndOfTheLeaseEndsTheConnections")},
	{"a child takes the answer to its earlier request for that to a later one", "trust ends first, S3",
		in("internal/inherit", "connection.ask", "c.last++", ""),
		inheriting("TestALateAnswerDoesNotCount")},
}
