package zklock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/driver"
)

// A lock is the node ROOT/locks/NAME, or ROOT/locks-NAMESPACE/NAME. Its children are named _c_NONCE-lock-SEQUENCE, or
// with -read- for shared locks, like those of ZooKeeper's own recipes. The nonce identifies the acquisition, so that
// the node can be found if the reply to its request was lost. If a reader is not the first of its epoch (see
// epoch.go), the token of the epoch is between the nonce and -read-.

const (
	locks     = "locks"
	protected = "_c_"
	alone     = "-lock-"
	sharing   = "-read-"
)

// under returns the node of a namespace.
func (s *store) under(namespace string) string {
	if namespace == "" {
		return s.root + "/" + locks
	}
	return s.root + "/" + locks + "-" + escape(namespace)
}

// namespaceOf reverses under: it returns the namespace whose node has this name.
func namespaceOf(node string) (namespace string, ok bool) {
	if node == locks {
		return "", true
	}
	escaped, ok := strings.CutPrefix(node, locks+"-")
	return unescape(escaped), ok
}

// container returns the node of a lock.
func (s *store) container(key driver.Key) string {
	return s.under(key.Namespace) + "/" + escape(key.Name)
}

// escape replaces characters that may not be in a part of a path by %XX for each byte of their UTF-8. It replaces the
// characters that ZooKeeper refuses, the slash, the percent sign, and the dots of the names "." and "..". ZooKeeper
// also refuses characters beyond 16 bits, because Java represents them as two surrogates.
func escape(part string) string {
	if part == "." || part == ".." {
		return strings.ReplaceAll(part, ".", "%2E")
	}
	legal := func(r rune) bool {
		return r > 0x1f && r != '/' && r != '%' && !(r >= 0x7f && r <= 0x9f) && r < 0xd800 || r > 0xf8ff && r < 0xfff0
	}
	if strings.IndexFunc(part, func(r rune) bool { return !legal(r) }) < 0 {
		return part
	}
	var out strings.Builder
	for _, r := range part {
		if legal(r) {
			out.WriteRune(r)
			continue
		}
		for _, b := range utf8.AppendRune(nil, r) {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

func unescape(part string) string {
	var out []byte
	for i := 0; i < len(part); i++ {
		if part[i] == '%' && i+2 < len(part) {
			if b, err := strconv.ParseUint(part[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, part[i])
	}
	return string(out)
}

// place is one child of a lock's node.
type place struct {
	node     string
	nonce    driver.Nonce // zero if another program created the node
	shared   bool
	epoch    driver.Token // the token of a share; zero if the id of the transaction that created the node is the token
	sequence int32
}

// parse parses the name of a child. It returns false if the name has no sequence number, because such a child is not in
// the queue. The node of another program counts as exclusive.
func parse(node string) (p place, ok bool) {
	p.node = node
	digits := len(node) - 10
	if digits > 0 && node[digits-1] == '-' && digits > 1 && node[digits-2] == '-' {
		digits-- // after 2³¹ nodes the sequence is negative
	}
	if digits < 0 {
		return p, false
	}
	n, err := strconv.ParseInt(node[digits:], 10, 32)
	if err != nil {
		return p, false
	}
	p.sequence = int32(n)
	name := node[:digits]
	text, isShared := strings.CutSuffix(name, sharing)
	if !isShared {
		text, _ = strings.CutSuffix(name, alone)
	}
	text = strings.TrimPrefix(text, protected)
	if isShared && len(text) > epochDigits+1 {
		if rest, digits := text[:len(text)-epochDigits-1], text[len(text)-epochDigits:]; text[len(rest)] == '-' {
			if _, err := driver.ParseNonce(rest); err == nil {
				epoch, _ := strconv.ParseInt(digits, 16, 64)
				p.epoch, text = driver.Token(epoch), rest
			}
		}
	}
	if nonce, err := driver.ParseNonce(text); err == nil {
		p.nonce, p.shared = nonce, isShared
	}
	return p, true
}

// queue returns the children of a lock's node in the order of their creation. The first is the holder's.
func queue(children []string) []place {
	var all []place
	for _, node := range children {
		if p, ok := parse(node); ok {
			all = append(all, p)
		}
	}
	// The comparison uses the difference of the numbers, so that the order is right when the sequence overflows.
	slices.SortFunc(all, func(x, y place) int { return int(x.sequence - y.sequence) })
	return all
}
