package sqlbase

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/driver"
)

// EncodeShares returns the parameter of renew_shared.sql: a JSON object with the TTL in microseconds of each share,
// under the share's nonce.
func EncodeShares(shares []driver.Grant) (string, error) {
	ttls := make(map[string]int64, len(shares))
	for _, g := range shares {
		ttls[g.Nonce.String()] = g.TTL.Microseconds()
	}
	return Encode(ttls)
}

// RenewEach passes the exclusive grants to the function exclusive, and the shares of each epoch to the function shared.
// It returns the outcomes in the order of grants. If only some of the calls fail, the outcomes of their grants are
// unknown.
func RenewEach(ctx context.Context, grants []driver.Grant, exclusive, shared func(context.Context, []driver.Grant) ([]driver.Outcome, error)) ([]driver.Outcome, error) {
	if !slices.ContainsFunc(grants, func(g driver.Grant) bool { return g.Shared }) {
		return exclusive(ctx, grants)
	}
	type epoch struct {
		key   driver.Key
		token driver.Token
	}
	var alone []int
	var epochs []epoch
	members := make(map[epoch][]int)
	for i, g := range grants {
		if !g.Shared {
			alone = append(alone, i)
			continue
		}
		e := epoch{g.Key, g.Token}
		if members[e] == nil {
			epochs = append(epochs, e)
		}
		members[e] = append(members[e], i)
	}
	result := make([]driver.Outcome, len(grants))
	var failed error
	answered := false
	renew := func(places []int, by func(context.Context, []driver.Grant) ([]driver.Outcome, error)) {
		part := make([]driver.Grant, len(places))
		for i, place := range places {
			part[i] = grants[place]
		}
		outcomes, err := by(ctx, part)
		if err != nil {
			failed = err
			return
		}
		answered = true
		for i, place := range places {
			result[place] = outcomes[i]
		}
	}
	if len(alone) > 0 {
		renew(alone, exclusive)
	}
	for _, e := range epochs {
		renew(members[e], shared)
	}
	if !answered {
		return nil, failed
	}
	return result, nil
}

// SharedOutcomesInto returns a function that stores the outcomes of renew_shared.sql in result. Each row has the nonce
// of a share and its outcome. A share without a row is lost.
func SharedOutcomesInto(shares []driver.Grant, result []driver.Outcome) func(Rows) error {
	places := make(map[string]int, len(shares))
	for i, g := range shares {
		places[g.Nonce.String()], result[i] = i, driver.Lost
	}
	return func(r Rows) error {
		for r.Next() {
			var nonce, outcome string
			if err := r.Scan(&nonce, &outcome); err != nil {
				return err
			}
			if i, known := places[nonce]; known {
				result[i] = outcomes[outcome]
			}
		}
		return nil
	}
}
