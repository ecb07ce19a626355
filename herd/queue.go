package herd

// event is something that happens at an instant, in nanoseconds.
type event[P any] struct {
	at    int64
	order uint64 // of creation
	what  P
}

func (e *event[P]) before(f *event[P]) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// queue holds events that are to come. It is a heap with four children a node:
// half as deep as one with two, and the children lie side by side in memory.
//
//	     0
//	1  2  3  4
//	5 … 8, 9 … 12, …
//
// It allocates only where it grows beyond its largest length so far.
type queue[P any] struct {
	heap    []event[P]
	created uint64
}

func (q *queue[P]) reset() { q.heap, q.created = q.heap[:0], 0 }

func (q *queue[P]) len() int { return len(q.heap) }

// first is the next event. It is valid until the queue changes.
func (q *queue[P]) first() *event[P] { return &q.heap[0] }

// add creates an event.
func (q *queue[P]) add(at int64, what P) {
	q.created++
	e := event[P]{at, q.created, what}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

// replace creates an event in place of the first one: cheaper than pop and add.
func (q *queue[P]) replace(at int64, what P) {
	q.created++
	q.sink(event[P]{at, q.created, what})
}

// pop removes the first event.
func (q *queue[P]) pop() event[P] {
	first := q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.sink(e)
	}
	return first
}

// sink puts e in the place of the first event and restores the order.
func (q *queue[P]) sink(e event[P]) {
	h, i := q.heap, 0
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for j := child + 1; j < min(child+4, len(h)); j++ {
			if h[j].before(&h[least]) {
				least = j
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
