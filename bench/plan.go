package main

import "time"

// plan says what is measured and for how long.
type plan struct {
	quick bool

	cycles, fences, sizes, many, nodes runs

	handOver, herds runs
	contenders      []int
	candidates      []int // numbers of contenders in the measurement with a slow or a dead node
	herd            int
	patience        time.Duration // how long to wait for the first hand-over if the members poll rarely

	ttl    time.Duration
	deaths int

	leases int
	hold   time.Duration

	waiters int           // clients that wait for one name, each with its own pool
	parks   time.Duration // how long their requests are counted
	starts  runs

	rows    []int
	clients []int
	churn   []int // numbers of cycles for Postgres; other stores omit the largest
}

var long = plan{
	cycles: runs{9, 200 * time.Millisecond}, fences: runs{7, 200 * time.Millisecond}, sizes: runs{9, 300 * time.Millisecond}, many: runs{3, 500 * time.Millisecond}, nodes: runs{1, 5 * time.Second}, candidates: []int{1, 8, 50},
	handOver: runs{3, 300 * time.Millisecond}, herds: runs{3, 500 * time.Millisecond}, contenders: []int{2, 8, 100}, herd: 1000, patience: 4 * time.Second,
	ttl: 3 * time.Second, deaths: 3,
	leases: 10_000, hold: time.Minute, waiters: 200, parks: 15 * time.Second, starts: runs{5, 500 * time.Millisecond},
	rows: []int{1, 1000, 1_000_000}, clients: []int{1, 4, 16, 64}, churn: []int{1000, 10_000, 100_000, 1_000_000},
}

var brief = plan{
	quick:  true,
	cycles: runs{1, 20 * time.Millisecond}, fences: runs{1, 15 * time.Millisecond}, sizes: runs{1, 20 * time.Millisecond}, many: runs{1, 50 * time.Millisecond}, nodes: runs{1, time.Second}, candidates: []int{8},
	handOver: runs{1, 50 * time.Millisecond}, herds: runs{1, 100 * time.Millisecond}, contenders: []int{8}, herd: 100, patience: 1500 * time.Millisecond,
	ttl: 3 * time.Second, deaths: 1,
	leases: 200, hold: time.Second, waiters: 30, parks: time.Second, starts: runs{1, 50 * time.Millisecond},
	rows: []int{1, 1000}, clients: []int{4}, churn: []int{500},
}

// scaled returns a plan with longer or shorter measurements. It multiplies the length of the rounds, and the times for
// which leases are held and waiters wait, by factor.
func (p plan) scaled(factor float64) plan {
	for _, r := range []*runs{&p.cycles, &p.fences, &p.sizes, &p.many, &p.nodes, &p.handOver, &p.herds, &p.starts} {
		r.round = time.Duration(float64(r.round) * factor)
	}
	p.hold, p.parks = time.Duration(float64(p.hold)*factor), time.Duration(float64(p.parks)*factor)
	return p
}

// cyclesOf returns the numbers of cycles after which a table's size is measured.
func (p plan) cyclesOf(s store) []int {
	if s.id == "postgres" || len(p.churn) == 1 {
		return p.churn
	}
	return p.churn[:len(p.churn)-1]
}
