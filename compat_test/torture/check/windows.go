package check

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// Porcupine's memory grows with the square of the history's length. Its time grows without limit if many orders are possible. So
// each name's history is cut into windows. Each window begins with the last grant of the window before, and each operation ends
// in its window.
const (
	window       = 500
	windowLimit  = 10 * time.Second
	undecidedFor = "a window of the history could not be decided in time"
)

// lockState is the specification's state of a lock: the token of the holder, or 0, and the largest token granted so far.
type lockState struct{ holder, newest int64 }

type lockInput struct {
	token int64
	frees bool
}

// lockModel returns the specification: a free lock can be granted, each time with a larger token, and each grant ends once.
func lockModel(newest int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{newest: newest} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(lockState), input.(lockInput)
			switch {
			case !in.frees:
				return s.holder == 0 && in.token > s.newest, lockState{in.token, in.token}
			case s.holder == in.token:
				return true, lockState{newest: s.newest}
			}
			return false, s
		},
		Hash: func(state any) uint64 {
			s := state.(lockState)
			return uint64(s.holder)*31 + uint64(s.newest)
		},
	}
}

// linearizable asks Porcupine whether the grants and their ends can be ordered so that the order fits the instants of all
// requests and answers. Porcupine knows the order of tokens only from the specification.
func (b *book) linearizable() (v *Verdict) {
	v = &Verdict{ID: "P", Property: "windows of each name are linearizable (Porcupine)", Need: true}
	for _, name := range b.names() {
		for of := b.inOrder(name); len(of) > 0; {
			n := min(window, len(of))
			for i := range n { // tokens may start again from the beginning in each era
				if of[i].era != of[0].era {
					n = i
					break
				}
			}
			v.Judged++
			switch porcupine.CheckOperationsTimeout(lockModel(of[0].token-1), b.operations(of[:n]), windowLimit) {
			case porcupine.Illegal:
				v.broken("%s: no order fits the grants from token %d to %d", name, of[0].token, of[n-1].token)
			case porcupine.Unknown:
				v.Unknown++
				v.Examples = append(v.Examples, name+": "+undecidedFor)
			}
			switch {
			case n == len(of):
				of = nil
			case of[n].era != of[0].era || n == 1:
				of = of[n:]
			default:
				of = of[n-1:]
			}
		}
	}
	return v
}

// operations returns two operations for each grant: the grant and the grant's end. A grant ends when it is released. If
// it was not released, its end may be any instant between the earliest possible next grant and the actual next grant.
func (b *book) operations(of []*attempt) (all []porcupine.Operation) {
	for i, a := range of {
		all = append(all, porcupine.Operation{ClientId: a.worker, Input: lockInput{token: a.token}, Call: a.asked, Return: a.granted})
		from, to := b.yields(a), b.ended
		if i+1 < len(of) {
			to = of[i+1].granted
		}
		if a.release != 0 && a.release <= from && a.released.Outcome == "ok" {
			to = min(to, a.released.At)
		}
		// The max matters if this grant began only after the next holder was granted the name. There were then two
		// holders, and the specification rejects that.
		all = append(all, porcupine.Operation{ClientId: a.worker, Input: lockInput{token: a.token, frees: true}, Call: from, Return: max(from, to)})
	}
	return all
}
