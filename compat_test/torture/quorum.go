//go:build linux

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/testserver"
)

// quorum is a store of three nodes that elect a leader.
type quorum struct {
	members []member
	known   []string
	isolate func(i int)
	rejoin  func()
	end     func()
}

type member interface {
	Kill()
	Restart(context.Context) error
	Pause()
	Continue()
	Leads(context.Context) (bool, error)
}

func (q *quorum) addrs() []string { return q.known }
func (q *quorum) stop()           { q.end() }

// hit causes a fault of the leader.
func (q *quorum) hit(ctx context.Context, s step) error {
	patient, cancel := unhurried(ctx)
	defer cancel()
	i, err := q.leader(patient)
	if err != nil {
		return err
	}
	switch s.Kind {
	case leaderKill:
		q.members[i].Kill()
		wait(ctx, s.For)
		err = q.members[i].Restart(patient)
	case leaderStop:
		q.members[i].Pause()
		wait(ctx, s.For)
		q.members[i].Continue()
	case partition:
		q.isolate(i)
		wait(ctx, s.For)
		q.rejoin()
	}
	if err == nil {
		_, err = q.leader(patient) // without this wait, two nodes could be faulty at the same time
	}
	return err
}

func (q *quorum) leader(ctx context.Context) (int, error) {
	for {
		for i, m := range q.members {
			asking, cancel := context.WithTimeout(ctx, time.Second)
			leads, err := m.Leads(asking)
			cancel()
			if leads && err == nil {
				return i, nil
			}
		}
		if wait(ctx, 20*time.Millisecond); ctx.Err() != nil {
			return 0, errors.New("there is no leader")
		}
	}
}

func etcdQuorum(ctx context.Context) (cluster, error) {
	c, err := testserver.StartEtcdCluster(ctx, 3, testserver.Options{})
	if err != nil {
		return nil, err
	}
	q := &quorum{isolate: func(i int) { c.Isolate(c.Nodes[i]) }, rejoin: c.Rejoin, end: c.Stop}
	for _, n := range c.Nodes {
		q.members, q.known = append(q.members, n), append(q.known, strings.TrimPrefix(n.DSN, "http://"))
	}
	return q, nil
}

func zooKeeperQuorum(ctx context.Context) (cluster, error) {
	c, err := testserver.StartZooKeeperEnsemble(ctx, 3, testserver.Options{})
	if err != nil {
		return nil, err
	}
	q := &quorum{isolate: func(i int) { c.Isolate(c.Nodes[i]) }, rejoin: c.Rejoin, end: c.Stop}
	for _, n := range c.Nodes {
		q.members, q.known = append(q.members, n), append(q.known, n.DSN)
	}
	return q, nil
}
