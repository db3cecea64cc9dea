package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
)

var historyCases = []testCase{
	{
		name:    "history",
		promise: "With many clients on few names, no two grants overlap, tokens rise strictly in the order of the grants, and late or repeated calls change no other grant.",
		run:     history,
	},
}

const (
	clients = 8
	enough  = 10 // grants for each client, if there is enough time
	rooms   = 3  // number of names
)

// stay is one grant, as observed by its client.
type stay struct {
	room, client int
	token        driver.Token
	got, gave    time.Time // the client read got after the reply to its request, and gave before it sent the release
}

// room records which client holds one name. A new holder must find that no client holds the name.
type room struct {
	key    driver.Key
	inside atomic.Int64 // id of the holder plus 1; 0 if no client holds the name
}

func history(t *trial) {
	all := make([]*room, rooms)
	for i := range all {
		all[i] = &room{key: t.key(fmt.Sprint(i))}
	}
	guests := make([]*guest, clients)
	for i := range guests {
		guests[i] = &guest{trial: t, id: i, backend: t.open(), rooms: all}
	}
	var together sync.WaitGroup
	for _, g := range guests {
		together.Go(func() { g.err = g.run() })
	}
	together.Wait()
	var stays []stay
	for _, g := range guests {
		if g.err != nil {
			t.fatalf("client %d: %v", g.id, g.err)
		}
		stays = append(stays, g.stays...)
	}
	if err := judge(stays, ordered(guests[0].backend)); err != nil {
		t.fatalf("%v", err)
	}
}

// guest is one client, which repeatedly acquires and releases one of the names.
type guest struct {
	*trial
	id      int
	backend driver.Backend
	rooms   []*room
	stays   []stay
	past    []driver.Grant
	err     error
}

func (g *guest) run() error {
	for end := time.Now().Add(min(g.patience/4, 5*time.Second)); len(g.stays) < enough && time.Now().Before(end); {
		n := rand.N(len(g.rooms))
		r := g.request(g.rooms[n].key)
		r.TTL = longest // as long as a case may take, so that no lease expires before its client renews and releases it
		grant, err := g.backend.Acquire(g.ctx, r)
		var held *driver.Held
		if errors.As(err, &held) {
			pause()
			continue
		}
		if err != nil {
			return fmt.Errorf("acquire: neither a grant nor a *driver.Held: %w", err)
		}
		s := stay{room: n, client: g.id, token: grant.Token, got: time.Now()}
		me := int64(g.id) + 1
		if !g.rooms[n].inside.CompareAndSwap(0, me) {
			return fmt.Errorf("granted token %d while client %d had not released", grant.Token, g.rooms[n].inside.Load()-1)
		}
		if err := g.work(grant); err != nil {
			return err
		}
		if !g.rooms[n].inside.CompareAndSwap(me, 0) {
			return fmt.Errorf("token %d was held while another client acquired the name", grant.Token)
		}
		s.gave = time.Now()
		if err := g.backend.Release(g.ctx, grant); err != nil {
			return fmt.Errorf("release token %d, which is held: %w", grant.Token, err)
		}
		g.stays, g.past = append(g.stays, s), append(g.past, grant)
	}
	return nil
}

// pause waits for at most a millisecond, so that the requests of the clients overlap.
func pause() { time.Sleep(rand.N(time.Millisecond)) }

// work renews the grant, as a holder does. Before that, it repeats the release of an older grant,
// as a network may do.
func (g *guest) work(grant driver.Grant) error {
	if len(g.past) > 0 {
		old := g.past[rand.N(len(g.past))]
		if err := g.backend.Release(g.ctx, old); err != nil && !errors.Is(err, driver.ErrNotHeld) {
			return fmt.Errorf("repeat the release of token %d: %w", old.Token, err)
		}
	}
	pause()
	return g.renew(grant)
}

// renew renews the grant, and retries if the outcome is unknown, as the engine does. Another client may be changing the row at
// that moment.
func (g *guest) renew(grant driver.Grant) error {
	const tries = 20
	var outcomes []driver.Outcome
	for range tries {
		var err error
		outcomes, err = g.backend.Renew(g.ctx, []driver.Grant{grant})
		if err != nil {
			return fmt.Errorf("renew token %d: %w", grant.Token, err)
		}
		if len(outcomes) != 1 || outcomes[0] != driver.Unknown {
			break
		}
		pause()
	}
	if len(outcomes) != 1 || outcomes[0] != driver.Renewed {
		return fmt.Errorf("renew token %d, which is held: %v", grant.Token, outcomes)
	}
	return nil
}

// judge returns an error if two grants of a name have the same token, or if a grant with a larger token began before
// the previous holder released.
func judge(stays []stay, tokens bool) error {
	if len(stays) == 0 {
		return errors.New("no client acquired anything")
	}
	if !tokens {
		return nil // without tokens, only the field room.inside can show an overlap
	}
	for n := range rooms {
		in := slices.DeleteFunc(slices.Clone(stays), func(s stay) bool { return s.room != n })
		slices.SortFunc(in, func(x, y stay) int { return cmp.Compare(x.token, y.token) })
		for i := 1; i < len(in); i++ {
			before, after := in[i-1], in[i]
			switch {
			case before.token == after.token:
				return fmt.Errorf("clients %d and %d were both granted token %d", before.client, after.client, after.token)
			case after.got.Before(before.gave):
				return fmt.Errorf("token %d was granted before the holder of token %d released", after.token, before.token)
			}
		}
	}
	return nil
}
