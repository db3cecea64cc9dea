package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tokenOfSQL matches a comment, a string, a name with its qualifier, a parameter, a number, or an operator. The
// beginning of a comment that MySQL or MariaDB executes is a token of its own.
var tokenOfSQL = regexp.MustCompile(`--[^\n]*|/\*M?!\d*|/\*(?s:.*?)\*/|\*/|'[^']*'|"[^"]*"|\$\w*\$|[@$?]*\w+(?:\.\w+)*|<=>|->>|[<>=!~:|-][=>|]|<>|::|\S`)

// endsTerm contains the words that end an operand of AND and OR, and a condition.
var endsTerm = words(`AND OR WHERE ON WHEN HAVING IF ELSEIF ELSIF THEN ELSE GROUP ORDER LIMIT FOR RETURNING SET UNION LEFT JOIN CROSS FROM DO LOOP LOCK
	INTO UPDATE SELECT INSERT AS RETURN LOCAL BEGIN DECLARE PERFORM CALL END ; , := */`)

// conditions maps a word that begins a condition to the words that end it. A condition after WHERE, ON and HAVING may
// end with any of the words above.
var conditions = map[string]map[string]bool{
	"WHERE": nil, "ON": nil, "HAVING": nil, "WHEN": words("THEN ;"), "IF": words("THEN"), "ELSEIF": words("THEN"), "ELSIF": words("THEN"), "IF(": words(","),
}

// noName contains words that do not name a condition.
var noName = words(`NOT SELECT EXISTS COALESCE CASE AS COUNT CAST INTERVAL TRUE FALSE NULL IS IN TONUMBER DISTINCT`)

var comparisons = map[string][]string{
	"=": {"<>"}, "<>": {"="}, "==": {"~="}, "~=": {"=="},
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
}

var others = map[string]string{
	"+": "-", "-": "+", "OFF": "ON",
	"MAX": "min", "MIN": "max", "GREATEST": "least", "LEAST": "greatest", "MATH.MAX": "math.min", "MATH.MIN": "math.max",
}

var operand = regexp.MustCompile(`[\w)'\]]$`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// lexeme is a token of an SQL or Lua file, and its place in the text. Keywords are compared in capitals.
type lexeme struct {
	text, upper string
	from, to    int
}

// frame is the state of the generator between two parentheses, between CASE and END, or in the whole file.
type frame struct {
	open      string // the token that begins the frame
	left      string // the token before the present operand of AND or OR
	term      int    // the first token of the present operand
	condition int    // the first token of the present condition, or -1
	opener    string // the token before the condition
	list      int    // the first token of the present assignment in a list after SET, or -1
	between   bool   // the next AND belongs to BETWEEN
}

// sqlGenerator collects the changes of one SQL or Lua file.
type sqlGenerator struct {
	place, text string
	lua         bool
	tokens      []lexeme
	frames      []*frame
	all         []change
}

// changesOfSQL returns all changes that it can make in the text of an SQL or Lua file. It knows tokens, and no grammar.
// A database may refuse some of the changed texts.
func changesOfSQL(file, text string) ([]change, error) {
	text, _, _ = strings.Cut(text, "-- +goose Down")
	g := &sqlGenerator{place: file, text: text, lua: filepath.Ext(file) == ".lua", frames: []*frame{{condition: -1, list: -1}}}
	for _, at := range tokenOfSQL.FindAllStringIndex(text, -1) {
		t := text[at[0]:at[1]]
		if !strings.HasPrefix(t, "--") && !(strings.HasPrefix(t, "/*") && strings.HasSuffix(t, "*/")) {
			g.tokens = append(g.tokens, lexeme{t, strings.ToUpper(t), at[0], at[1]})
		}
	}
	for i := range g.tokens {
		if g.is(i, "FUNCTION", "PROCEDURE", "VIEW") && g.is(i-1, "CREATE", "REPLACE") {
			g.place = file + " " + g.tokens[i+1].text
		}
		if g.lua && len(g.frames) == 1 && g.beginsLine(i) && !g.is(i, "AND", "OR") && !g.is(i-1, "AND", "OR") {
			g.end(i, "\n")
		}
		g.replaceToken(i)
		g.visit(i)
	}
	g.end(len(g.tokens), ";")
	return g.all, nil
}

func (g *sqlGenerator) is(i int, words ...string) bool {
	return i >= 0 && i < len(g.tokens) && slices.Contains(words, g.tokens[i].upper)
}

func (g *sqlGenerator) top() *frame { return g.frames[len(g.frames)-1] }

func (g *sqlGenerator) beginsLine(i int) bool {
	at := g.tokens[i].from
	return strings.TrimSpace(g.text[strings.LastIndex(g.text[:at], "\n")+1:at]) == ""
}

func (g *sqlGenerator) visit(i int) {
	word, f := g.tokens[i].upper, g.top()
	_, comma := g.closing(i + 1)
	function := g.is(i+1, "(") && (g.is(i, "LEFT", "INSERT") || g.is(i, "IF") && comma)
	switch {
	case word == "(" || word == "CASE":
		inner := &frame{open: word, left: word, term: i + 1, condition: -1, list: -1}
		if _, comma := g.closing(i); comma && g.is(i-1, "IF") {
			inner.condition, inner.opener = i+1, "IF("
		}
		g.frames = append(g.frames, inner)
	case word == ")" || word == "END" && f.open == "CASE":
		g.end(i, word)
		g.frames = g.frames[:max(1, len(g.frames)-1)]
	case word == "BETWEEN":
		f.between = true
	case word == "AND" && f.between:
		f.between = false
	case function || word == "FROM" && g.is(i-1, "DISTINCT") || word == "SET" && g.is(i-1, "CHARACTER") || word == "OR" && g.is(i-1, "CREATE"):
	case endsTerm[word] && !(g.lua && word == "CALL") || word == "=" && g.lua || strings.HasPrefix(word, "/*") || len(word) > 1 && strings.HasPrefix(word, "$") && strings.HasSuffix(word, "$"):
		g.end(i, word)
		if _, begins := conditions[word]; begins && !g.is(i-1, "END") && !g.is(i+1, "CONFLICT", "DUPLICATE") {
			f.condition, f.opener = i+1, word
		}
		if word == "SET" || word == "UPDATE" && g.is(i-1, "KEY") {
			f.list = i + 1
		}
		if word != "AND" && word != "OR" {
			g.drop(i)
		}
	}
}

// closing returns the token that closes the parentheses that begin at token i, and whether they contain a comma of their
// own.
func (g *sqlGenerator) closing(i int) (at int, comma bool) {
	for depth := 0; i < len(g.tokens); i++ {
		switch {
		case g.is(i, "("):
			depth++
		case g.is(i, ")"):
			depth--
		case g.is(i, ","):
			comma = comma || depth == 1
		}
		if depth == 0 {
			return i, comma
		}
	}
	return len(g.tokens) - 1, comma
}

// The method end adds the changes of the operand, of the assignment and of the condition that end before token i.
func (g *sqlGenerator) end(i int, word string) {
	f := g.top()
	left, from, condition := f.left, f.term, f.condition
	f.left, f.term = word, i+1
	if word == "\n" {
		f.term = i
	}
	switch {
	case left == "AND" || word == "AND":
		g.wrap("drop term ", "", from, i, "(true OR (")
	case left == "OR" || word == "OR":
		g.wrap("drop term ", "", from, i, "(false AND (")
	case condition == from && conditions[f.opener] == nil:
		g.wrap("drop term ", "", from, i, "(true OR (")
	}
	if f.list >= 0 && word != "AND" && word != "OR" && word != "AS" {
		g.assignment(f.list, i)
		if f.list = -1; word == "," {
			f.list = i + 1
		}
	}
	if condition < 0 || word == "AND" || word == "OR" || strings.Contains(word, "/") {
		return
	}
	f.condition = -1
	if conditions[f.opener][word] {
		what := strings.ToLower(strings.TrimSuffix(f.opener, "(")) + " "
		g.wrap(what, " -> true", condition, i, "(true OR (")
		g.wrap(what, " -> false", condition, i, "(false AND (")
	}
}

// The method wrap adds a change in which the tokens no longer count. They stay in the text because of their parameters.
// Tokens without any name, as in "or 0", are a default value.
func (g *sqlGenerator) wrap(before, after string, from, to int, by string) {
	if name := g.head(from, to); name != "?" {
		g.add(before+name+after, from, to, by+g.text[g.tokens[from].from:g.tokens[to-1].to]+"))")
	}
}

// head returns the name that stands for a condition in an identity: the first column, variable or function in it,
// without its qualifier.
func (g *sqlGenerator) head(from, to int) string {
	for i := from; i < to; i++ {
		t := g.tokens[i].text
		name := strings.TrimLeft(t[strings.LastIndex(t, ".")+1:], "@")
		if name != "" && (name[0] == '_' || 'A' <= name[0] && name[0] <= 'z') && !noName[strings.ToUpper(name)] && !endsTerm[strings.ToUpper(name)] && !g.is(i-1, "::") {
			return name
		}
	}
	return "?"
}

// The method assignment adds a change without the assignment and its comma. It keeps an assignment with a parameter that
// only its position identifies, and the only assignment of a list.
func (g *sqlGenerator) assignment(from, to int) {
	positional := slices.ContainsFunc(g.tokens[min(from, to):to], func(t lexeme) bool { return t.text == "?" })
	switch kind := "drop " + g.head(from, to) + " ="; {
	case from >= to || positional:
	case g.is(to, ","):
		g.add(kind, from, to+1, "")
	case g.is(from-1, ","):
		g.add(kind, from-1, to, "")
	}
}

// The method replaceToken adds the changes that token i permits by itself.
func (g *sqlGenerator) replaceToken(i int) {
	t := g.tokens[i]
	term := g.head(g.top().term, i) + " "
	if slices.ContainsFunc(g.frames, func(f *frame) bool { return f.condition >= 0 }) {
		for _, by := range comparisons[t.text] {
			g.add(term+t.text+" -> "+by, i, i+1, by)
		}
	}
	by, known := others[t.upper]
	switch arithmetic := t.text == "+" || t.text == "-"; {
	case known && arithmetic && i > 0 && operand.MatchString(g.tokens[i-1].text):
		g.add(term+t.text+" -> "+by, i, i+1, by)
	case known && !arithmetic && (g.is(i+1, "(") || t.upper == "OFF"):
		g.add(strings.ToLower(t.text)+" -> "+strings.ToLower(by), i, i+1, by)
	case g.is(i, "COALESCE") && g.is(i+3, ","):
		g.add("coalesce "+g.head(i+2, i+3)+" -> default", i+2, i+3, "CASE WHEN false THEN "+g.tokens[i+2].text+" END")
	case g.is(i, "FOR") && g.is(i+1, "UPDATE", "SHARE"):
		to := i + 2
		for g.is(to, "OF", "SKIP") {
			to += 2
		}
		g.add("drop FOR "+g.tokens[i+1].upper, i, to, "")
		if g.is(i+1, "SHARE") {
			g.add("FOR SHARE -> FOR KEY SHARE", i, i+2, "FOR KEY SHARE")
		}
	case g.is(i, "LOCK") && g.is(i+1, "IN"):
		g.add("drop LOCK IN SHARE MODE", i, i+4, "")
	case g.is(i, "REDIS.CALL") && g.beginsLine(i):
		to, _ := g.closing(i + 1)
		g.add("drop call "+strings.Trim(g.tokens[i+2].text, `'"`), i, to+1, "")
	}
}

// The method drop adds a change without the statement of a routine or script that begins after token i. Such a statement
// is a call, an assignment, or the beginning or end of a transaction.
func (g *sqlGenerator) drop(i int) {
	nothing := "DO 0"
	if strings.Contains(g.text, "plpgsql") {
		nothing = "NULL"
	}
	from := i + 1
	to := from
	for to < len(g.tokens) && !g.is(to, ";") {
		to++
	}
	switch {
	case g.is(i, "PERFORM", "CALL"):
		g.add("drop call "+g.tokens[from].text, i, to, nothing)
	case g.is(i, ":=") && g.is(i-2, ";", "BEGIN", "THEN", "ELSE", "LOOP"):
		g.add("drop "+g.tokens[i-1].text+" :=", i-1, to, nothing)
	case g.is(from, "ROLLBACK", "COMMIT") && g.is(from+1, ";"), g.is(from, "START") && g.is(from+1, "TRANSACTION"):
		g.add("drop "+g.tokens[from].upper, from, to, nothing)
	}
}

func (g *sqlGenerator) add(kind string, from, to int, by string) {
	start := g.tokens[from].from
	line := 1 + strings.Count(g.text[:start], "\n")
	g.all = append(g.all, change{place: g.place, kind: kind, start: start, end: g.tokens[to-1].to, new: by, at: [2]int{line, 1}})
}
