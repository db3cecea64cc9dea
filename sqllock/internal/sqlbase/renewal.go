package sqlbase

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// RenewAll passes the grants to the given function, which renews them. It repeats the call for the grants with an
// unknown outcome, at most twice. The outcome is unknown if another statement has locked the row of the lock: a renewal
// of the same grant, or an acquire that was refused. RenewAll returns an error only if the first call fails.
func RenewAll(ctx context.Context, grants []driver.Grant, once func(context.Context, []driver.Grant) ([]driver.Outcome, error)) ([]driver.Outcome, error) {
	result, err := once(ctx, grants)
	if err != nil {
		return nil, err
	}
	for range looks - 1 {
		var places []int
		var unknown []driver.Grant
		for i, outcome := range result {
			if outcome == driver.Unknown {
				places, unknown = append(places, i), append(unknown, grants[i])
			}
		}
		if len(unknown) == 0 || !backoff.Sleep(ctx, backoff.Jitter(lookDelay)) {
			break
		}
		outcomes, err := once(ctx, unknown)
		if err != nil {
			break // return the outcomes that are known
		}
		for i, place := range places {
			result[place] = outcomes[i]
		}
	}
	return result, nil
}

// RenewalOf returns the text that names the operation in the error of a failed renewal.
func RenewalOf(grants []driver.Grant) string {
	if len(grants) == 1 {
		return fmt.Sprintf("renew %q", grants[0].Key)
	}
	return fmt.Sprintf("renew %d leases", len(grants))
}
