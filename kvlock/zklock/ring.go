package zklock

// ring is a map that keeps only the keys that were put into it most recently.
type ring[K comparable, V any] struct {
	values map[K]V
	order  []K
	next   int
}

const remembered = 256

func (r *ring[K, V]) put(key K, value V) {
	if r.values == nil {
		r.values, r.order = make(map[K]V, remembered), make([]K, remembered)
	}
	if _, known := r.values[key]; !known {
		if oldest := r.order[r.next]; r.values != nil {
			delete(r.values, oldest)
		}
		r.order[r.next] = key
		r.next = (r.next + 1) % remembered
	}
	r.values[key] = value
}

func (r *ring[K, V]) get(key K) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

// remove deletes key. The slice order keeps the key until put overwrites its position.
func (r *ring[K, V]) remove(key K) { delete(r.values, key) }
