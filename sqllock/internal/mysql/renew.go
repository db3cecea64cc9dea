package mysql

import (
	"context"
	"encoding/base64"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// renewBytes is the size of the parameter of one statement. A thousand grants with names of 30 bytes fit into it. A server
// refuses what is longer than its max_allowed_packet, which is 1 MB where it was set low.
const renewBytes = 240 << 10

// Renew takes one round trip for a batch in which every grant is alive, and one more to tell the
// grants apart otherwise.
func (m *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	s, err := m.server(ctx)
	if err != nil {
		return nil, m.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	s = s.forRenewals()
	var result []driver.Outcome
	for rest := grants; len(rest) > 0; {
		part := rest[:fitting(rest)]
		rest = rest[len(part):]
		outcomes, err := sqlbase.RenewAll(ctx, part, s.renewOnce)
		if err != nil && result == nil {
			return nil, m.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
		}
		if err != nil { // something is known of some: the others stay unknown
			return append(result, make([]driver.Outcome, len(grants)-len(result))...), nil
		}
		result = append(result, outcomes...)
	}
	return result, nil
}

// fitting is how many of the first grants fit into one statement.
func fitting(grants []driver.Grant) (n int) {
	const others = 210 // what the other fields of a grant take at most
	size := 0
	for ; n < len(grants); n++ {
		key := grants[n].Key
		size += base64.StdEncoding.EncodedLen(len(key.Namespace)) + base64.StdEncoding.EncodedLen(len(key.Name)) + others
		if size > renewBytes && n > 0 {
			break
		}
	}
	return n
}

func (s *server) renewOnce(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	batch, err := sqlbase.EncodeGrants(encodedKeys(grants))
	if err != nil {
		return nil, driver.Permanent(err)
	}
	done, err := s.Exec(ctx, "renew", batch)
	if err != nil {
		return nil, err
	}
	result := make([]driver.Outcome, len(grants))
	if int(done.Affected) == len(grants) {
		for i := range result {
			result[i] = driver.Renewed
		}
		return result, nil
	}
	for i := range result {
		result[i] = driver.Unknown // what the answer does not tell
	}
	err = s.run(ctx, func() error {
		return s.q.Query(ctx, s.sql["renewed"], []any{done.LastID, batch}, sqlbase.OutcomesInto(result))
	})
	return result, err
}

// encodedKeys are the grants with their names as the statements take them.
func encodedKeys(grants []driver.Grant) []driver.Grant {
	result := make([]driver.Grant, len(grants))
	for i, g := range grants {
		g.Key = driver.Key{Namespace: sqlbind.MySQLBytes(g.Key.Namespace), Name: sqlbind.MySQLBytes(g.Key.Name)}
		result[i] = g
	}
	return result
}
