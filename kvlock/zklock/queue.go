package zklock

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

	epochDigits = 16
)

// under returns the node of a namespace.
func (b *Backend) under(namespace string) string {
	if namespace == "" {
		return b.root + "/" + locks
	}
	return b.root + "/" + locks + "-" + escape(namespace)
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
func (b *Backend) container(key driver.Key) string {
	return b.under(key.Namespace) + "/" + escape(key.Name)
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
		out.WriteString(url.PathEscape(string(r)))
	}
	return out.String()
}

func unescape(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}

// place is one child of a lock's node.
type place struct {
	node     string
	nonce    driver.Nonce // zero if another program created the node
	shared   bool         // the entry is a reader, and does not wait like a writer
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
	const nonce = len("00000000-0000-0000-0000-000000000000")
	if len(text) == nonce+1+epochDigits && isShared {
		epoch, _ := strconv.ParseInt(text[nonce+1:], 16, 64)
		p.epoch, text = driver.Token(epoch), text[:nonce]
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
	for i := range all { // only the first entry can begin an epoch; another program's node may have come before
		all[i].shared = all[i].shared && (i == 0 || all[i].epoch != 0)
	}
	return all
}

// firstWriter returns the index of the first entry of q that is not a reader, or -1. All later entries wait for it.
func firstWriter(q []place) int {
	return slices.IndexFunc(q, func(p place) bool { return !p.shared })
}

// blockers returns the entries that the entry at the given index waits for.
func blockers(q []place, index int) (all []place) {
	e := q[index]
	if e.epoch == 0 {
		return q[:index]
	}
	for i, p := range q {
		if !p.shared && i < index || p.shared && p.epoch < e.epoch {
			all = append(all, p)
		}
	}
	return all
}

// lead returns an entry that holds the lock. If readers hold the lock, that is an entry with the smallest token of all
// readers at the head of the queue.
func lead(q []place) place {
	if n := firstWriter(q); n >= 0 {
		q = q[:max(n, 1)]
	}
	return slices.MinFunc(q, func(x, y place) int { return cmp.Compare(x.epoch, y.epoch) })
}

// readers returns the readers that hold the lock. The parameter token is the token of these readers.
func readers(q []place, token driver.Token) (all []place) {
	for _, p := range q {
		if p.shared && (p.epoch == token || p.epoch == 0) {
			all = append(all, p)
		}
	}
	return all
}
