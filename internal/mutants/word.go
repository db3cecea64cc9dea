package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// span is a part of a text, as byte offsets.
type span struct{ from, to int }

// word is a name, a number, a string or an operator of a source file. White space and comments are not part of words.
type word struct {
	text string
	span
}

func (w word) same(other word) bool { return w.text == other.text }

func wordsOfGo(source string) (words []word) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), nil, 0)
	for {
		pos, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return words
		case kind == token.SEMICOLON && text == "\n": // the scanner inserts a semicolon at the end of a line or of the source
			continue
		case text == "":
			text = kind.String()
		}
		at := file.Offset(pos)
		words = append(words, word{text, span{at, at + len(text)}})
	}
}

var wordOfSQL = regexp.MustCompile(`--[^\n]*|\w+|\S`)

// wordsOfSQL splits an SQL text into words. It also works for Lua.
func wordsOfSQL(source string) (words []word) {
	for _, at := range wordOfSQL.FindAllStringIndex(source, -1) {
		if text := source[at[0]:at[1]]; !strings.HasPrefix(text, "--") {
			words = append(words, word{text, span{at[0], at[1]}})
		}
	}
	return words
}
