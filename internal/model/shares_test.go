package model_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
	"github.com/rowlock/rowlock/internal/testenv"
)

// fullTokens is the number of tokens that is enough for one grant of each writer and two epochs, in any order. A forced
// release and a grant by an old request also need a token each. With fewTokens a search takes a tenth of the time.
const (
	fullTokens = 4
	fewTokens  = 3
)

// The properties of [model.Shares].
const (
	writerBesideReader = "no writer beside a live share"
	tokensWrong        = "one token for each epoch, in the order of the grants"
	stalePassed        = "no access is committed after a newer holder has sealed"
	readTorn           = "a reader reads one value under one lease"
	updateLost         = "a writer replaces the value that it has read"
)

var sharesProperties = map[string]func(model.SharesState) bool{
	writerBesideReader: model.SharesState.WriterBesideReader,
	tokensWrong:        model.SharesState.TokensWrong,
	stalePassed:        model.SharesState.StalePassed,
	readTorn:           model.SharesState.ReadTorn,
	updateLost:         model.SharesState.UpdateLost,
}

// Two readers and two writers keep all properties, whenever their leases expire, however late and however often their
// requests arrive, and whichever replies are lost. Each variant leaves out one part of the protocol, and breaks exactly
// the listed properties. In every variant of the store, the fence still keeps stale accesses out.
func TestShares(t *testing.T) { searchShares(t, fewTokens, 2) }

// TestShares with one more token.
func TestCompatShares(t *testing.T) {
	testenv.Compat(t)
	searchShares(t, fullTokens, fewTokens)
}

// searchShares searches the model with this number of tokens. Many variants have more states than the shipped model. So
// their searches for the properties that must hold use fewer tokens.
func searchShares(t *testing.T, tokens, inVariants uint8) {
	t.Helper()
	for name, c := range map[string]struct {
		change func(*model.Shares)
		breaks []string
	}{
		"shipped": {func(*model.Shares) {}, nil},

		"a share beside a writer":             {func(m *model.Shares) { m.BesideWriter = true }, []string{writerBesideReader}},
		"a writer beside readers":             {func(m *model.Shares) { m.BesideReader = true }, []string{writerBesideReader, tokensWrong}},
		"the end of one share frees the name": {func(m *model.Shares) { m.EndsWithOne = true }, []string{writerBesideReader, tokensWrong}},
		"a forced release leaves the shares":  {func(m *model.Shares) { m.ForceLeaves = true }, []string{writerBesideReader, tokensWrong}},
		"a token for each reader":             {func(m *model.Shares) { m.OwnTokens = true }, []string{tokensWrong}},
		"an epoch with the writer's token":    {func(m *model.Shares) { m.OldEpoch = true }, []string{tokensWrong}},
		"a writer with the epoch's token":     {func(m *model.Shares) { m.SameToken = true }, []string{tokensWrong}},
		"an old epoch goes on":                {func(m *model.Shares) { m.RejoinsOld = true }, []string{tokensWrong}},

		// A reader that does not seal lets the writer before it write between its two reads.
		"readers do not seal":          {func(m *model.Shares) { m.NoSeal = true }, []string{readTorn}},
		"check not held to the commit": {func(m *model.Shares) { m.NotHeld = true }, []string{stalePassed, readTorn, updateLost}},
	} {
		t.Run(name, func(t *testing.T) {
			m := model.Shares{Tokens: tokens}
			c.change(&m)
			if len(c.breaks) > 0 {
				m.Tokens = 3 // enough to break the listed properties
			}
			for _, property := range c.breaks {
				r := model.Search(m, sharesProperties[property])
				explain(t, property, r)
				assert.NotEmpty(t, r.Trace, property)
			}
			if len(c.breaks) > 0 {
				m.Tokens = inVariants
			}
			others := model.Search(m, func(s model.SharesState) bool {
				for property, broken := range sharesProperties {
					if !slices.Contains(c.breaks, property) && broken(s) {
						return true
					}
				}
				return false
			})
			explain(t, "each other property", others)
			assert.Empty(t, others.Trace)
		})
	}
}

// Both readers of an epoch can read under the fence, because they seal with the nonce of the epoch. If each of them
// sealed with its own nonce, the first reader would shut the second one out.
func TestTheEpochNonceAdmitsAllReaders(t *testing.T) {
	m := model.Shares{Tokens: fewTokens}
	assert.NotEmpty(t, model.Search(m, model.SharesState.BothRead).Trace)
	m.OwnNonces = true
	assert.Empty(t, model.Search(m, model.SharesState.BothRead).Trace)
}

// The search takes every step of the model of shares at least once. If some steps never happened, the properties might
// hold only for that reason.
func TestSharesModelIsNotVacuous(t *testing.T) {
	r := model.Search(model.Shares{Tokens: fewTokens}, model.SharesState.WriterBesideReader)
	for _, what := range []string{
		"expires", "releases the name by force", "is granted the name", "is granted the name, and the reply is lost",
		"is granted the name again by an old request", "seals", "finds the seal of its epoch", "has its seal rejected",
		"reads the value", "begins its access, which passes the check", "has its access rejected", "commits its access",
	} {
		assert.Contains(t, r.Taken, what)
	}
}
