package runner

import (
	"fmt"
	"sync"
)

// Kept is a writer that keeps the beginning and the end of what is written to it, in
// bounded memory. Several goroutines may write at once.
type Kept struct {
	mu         sync.Mutex
	half       int
	head, tail []byte
	start      int // of tail, which is a ring once it is full
	total      int64
}

// NewKept keeps as many bytes, half of them from the beginning.
func NewKept(bytes int) *Kept { return &Kept{half: max(1, bytes/2)} }

// Write keeps what there is room for. It never fails.
func (k *Kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(p)
	k.total += int64(n)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head, p = append(k.head, p[:take]...), p[take:]
	}
	p = p[max(0, len(p)-k.half):]
	if room := k.half - len(k.tail); room > 0 {
		take := min(room, len(p))
		k.tail, p = append(k.tail, p[:take]...), p[take:]
	}
	for len(p) > 0 {
		took := copy(k.tail[k.start:], p)
		k.start, p = (k.start+took)%k.half, p[took:]
	}
	return n, nil
}

// Total is how many bytes were written.
func (k *Kept) Total() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.total
}

// Text is what was kept, with a line where something is missing.
func (k *Kept) Text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	tail := string(k.tail[k.start:]) + string(k.tail[:k.start])
	lost := k.total - int64(len(k.head)+len(tail))
	if lost == 0 {
		return string(k.head) + tail
	}
	return fmt.Sprintf("%s\n[... %d bytes are missing ...]\n%s", k.head, lost, tail)
}
