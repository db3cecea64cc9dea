// Package ring has a map of limited size. Backends remember their recent releases in it.
package ring

// Map is a map that keeps only the keys that were put into it most recently. The caller serialises the calls.
type Map[K comparable, V any] struct {
	values map[K]V
	order  []K
	next   int
}

const remembered = 256

// Put sets the value of key. A new key replaces the oldest key if the map is full.
func (m *Map[K, V]) Put(key K, value V) {
	if m.values == nil {
		m.values, m.order = make(map[K]V, remembered), make([]K, remembered)
	}
	if _, known := m.values[key]; !known {
		delete(m.values, m.order[m.next])
		m.order[m.next] = key
		m.next = (m.next + 1) % remembered
	}
	m.values[key] = value
}

// Get returns the value of key, and whether the map has key.
func (m *Map[K, V]) Get(key K) (V, bool) {
	v, ok := m.values[key]
	return v, ok
}

// Remove deletes key. The slice order keeps the key until Put overwrites its position.
func (m *Map[K, V]) Remove(key K) { delete(m.values, key) }
