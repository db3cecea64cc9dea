package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func must(changes []change, err error) []change {
	if err != nil {
		panic(err)
	}
	return changes
}

func identities(changes []change) (all []string) {
	for _, c := range numbered(changes) {
		all = append(all, c.String())
	}
	return all
}

// The generator makes each kind of change at every place in the Go source where it is possible.
func TestChangesOfGo(t *testing.T) {
	changes := must(changesOfGo("a.go", `package a

const half = 10 / 2

type box[T any] struct{ n T }

func (b *box[T]) put(ctx context.Context, n T, on bool) (total int, err error) {
	defer print("done")
	if b.n = n; on {
		b.n = total
	}
	if b.n < half && (on || !b.full()) {
		total++
	}
	go print(ctx, total)
	_ = b.put(context.WithoutCancel(ctx), min(n, 1), true)
	select {
	default:
		b.out <- func() bool { return n == 1 }
	}
	switch {
	case n != 0:
		return total, ErrHeld
	}
	return total, errors.New("n is " + "small")
}
`))
	assert.ElementsMatch(t, []string{
		"half: 10 / -> *",
		"box.put: drop defer print", "box.put: drop go print", "box.put: drop call put", "box.put: drop total++", "box.put: drop send to out",
		"box.put: drop n = #1/2", "box.put: drop n = #2/2",
		"box.put: if on -> true", "box.put: if on -> false", "box.put: if n -> true", "box.put: if n -> false",
		"box.put: case n -> true", "box.put: case n -> false", "box.put: return n -> true", "box.put: return n -> false",
		"box.put: n < -> <=", "box.put: n < -> >=", "box.put: n == -> !=", "box.put: n != -> ==", "box.put: total++ -> --",
		"box.put: n && -> ||", "box.put: on || -> &&",
		"box.put: drop term n", "box.put: drop term on #1/2", "box.put: drop term on #2/2", "box.put: drop term full",
		"box.put: swap ctx and total of print", "box.put: drop WithoutCancel", "box.put: min -> max",
		"box.put: return ErrHeld -> nil", "box.put: ErrHeld -> ErrUnavailable", "box.put: return New -> nil",
	}, identities(changes))
}

// The generator makes each kind of change of an SQL file. It knows which routine it changes, and ignores comments.
func TestChangesOfSQL(t *testing.T) {
	for text, want := range map[string][]string{
		"-- Promise: WHERE id = 1 AND true\nUPDATE box SET token = greatest(l.token + 1, $2), n = coalesce(old, '') WHERE id = 1": {
			"a.sql: drop token =", "a.sql: drop n =", "a.sql: greatest -> least", "a.sql: token + -> -", "a.sql: coalesce old -> default",
			"a.sql: id = -> <>", "a.sql: drop term id",
		},
		"SELECT n FROM box l WHERE l.name = $1::text /*!80000 AND (l.until > now() OR NOT l.nonce = ?) */ AND l.at BETWEEN 1 AND 2 FOR SHARE OF l SKIP LOCKED": {
			"a.sql: name = -> <>", "a.sql: until > -> <=", "a.sql: until > -> >=", "a.sql: nonce = -> <>",
			"a.sql: drop term name", "a.sql: drop term until #1/2", "a.sql: drop term nonce", "a.sql: drop term until #2/2", "a.sql: drop term at",
			"a.sql: drop FOR SHARE", "a.sql: FOR SHARE -> FOR KEY SHARE",
		},
		"SELECT CASE WHEN a THEN IF(b, 1, 2) END FROM box LOCK IN SHARE MODE": {
			"a.sql: when a -> true", "a.sql: when a -> false", "a.sql: if b -> true", "a.sql: if b -> false", "a.sql: drop LOCK IN SHARE MODE",
		},
		"CREATE FUNCTION f() LANGUAGE plpgsql AS $$ BEGIN PERFORM g(1); locked := FOUND; IF n <= 1 THEN RETURN; END IF; COMMIT; END $$; -- +goose Down\nSELECT max(n)": {
			"a.sql f: drop call g", "a.sql f: drop locked :=", "a.sql f: drop COMMIT",
			"a.sql f: n <= -> <", "a.sql f: n <= -> >", "a.sql f: if n -> true", "a.sql f: if n -> false",
		},
	} {
		assert.ElementsMatch(t, want, identities(must(changesOfSQL("a.sql", text))), text)
	}
	assert.ElementsMatch(t, []string{
		"a.lua: drop term row", "a.lua: drop call HDEL", "a.lua: n ~= -> ==", "a.lua: if n -> true", "a.lua: if n -> false",
	}, identities(must(changesOfSQL("a.lua", "local n = row[1] or 0\nif n ~= '' then\n  redis.call('HDEL', KEYS[1])\nend\n"))))
}

// The changed text keeps the parameters of a condition, so that the statement is valid with the same arguments.
func TestTheTextOfAChange(t *testing.T) {
	text := "UPDATE box SET n = 1, at = 2 WHERE id = ? AND n > ?"
	made := map[string]string{}
	for _, c := range numbered(must(changesOfSQL("a.sql", text))) {
		made[c.kind] = text[:c.start] + c.new + text[c.end:]
	}
	assert.Equal(t, "UPDATE box SET n = 1, at = 2 WHERE (true OR (id = ?)) AND n > ?", made["drop term id"])
	assert.Equal(t, "UPDATE box SET n = 1 WHERE id = ? AND n > ?", made["drop at ="])
	assert.Equal(t, "UPDATE box SET  at = 2 WHERE id = ? AND n > ?", made["drop n ="])
}

// A test covers a change in a block that it executes. The expressions of a case are in no block. A test covers a change
// in such an expression if the test executes the function.
func TestCovers(t *testing.T) {
	inBlock := change{path: "p/a.go", function: [2]int{1, 9}, at: [2]int{3, 5}}
	inCase := inBlock
	inCase.at[0] = 7
	outside := change{path: "p/a.go"}
	entry, other := block{"a.go", [2]int{1, 10}, [2]int{2, 4}, true}, block{"b.go", [2]int{1, 1}, [2]int{9, 9}, true}
	body := block{"a.go", [2]int{3, 1}, [2]int{4, 9}, false}

	enters := covering{blocks: []block{entry, body, other}}
	assert.False(t, enters.covers(inBlock))
	assert.True(t, enters.covers(inCase))
	assert.True(t, enters.covers(outside))

	body.ran = true
	assert.True(t, covering{blocks: []block{entry, body}}.covers(inBlock))
	assert.False(t, covering{blocks: []block{other}}.covers(inCase))
}
