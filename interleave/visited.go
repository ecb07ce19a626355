package interleave

import (
	"encoding/binary"
	"math/bits"
)

const (
	k0 = 0xa0761d6478bd642f
	k1 = 0xe7037ed1a0b428db
	k2 = 0x8ebc6af09c88c6e3
	k3 = 0x589965cc75374cc3
)

// fold multiplies to 128 bits and folds the halves together. Unlike wyhash's
// mum it adds x rotated, so that no input makes the result forget the rest.
func fold(x, k uint64) uint64 {
	hi, lo := bits.Mul64(x, k)
	return hi ^ lo ^ bits.RotateLeft64(x, 29)
}

// visited is the set of states seen, numbered from 0 in order of insertion.
// The table holds numbers only, each with 32 bits of its key, so that a look-up
// mostly touches one cache line:
//
//	table: [tag|number+1] …      keys: [128 bits] …, by number
type visited struct {
	table []uint64 // a power of two long; 0 is free
	keys  blocks[Key]
}

func newVisited() *visited { return &visited{table: make([]uint64, 1<<6)} }

// find returns the number of a key and whether it is there; if it is not,
// where it would go.
func (s *visited) find(k Key) (number int, slot int, ok bool) {
	mask := len(s.table) - 1
	tag := k[0] & 0xffffffff00000000
	for i := int(k[0]) & mask; ; i = (i + 1) & mask {
		e := s.table[i]
		if e == 0 {
			return 0, i, false
		}
		if e&0xffffffff00000000 == tag {
			if n := int(uint32(e)) - 1; *s.keys.at(n) == k {
				return n, i, true
			}
		}
	}
}

// has says whether a key is there. It may run beside other readers.
func (s *visited) has(k Key) bool { _, _, ok := s.find(k); return ok }

// add returns the number of a key, and whether it is new.
func (s *visited) add(k Key) (number int, isNew bool) {
	number, slot, ok := s.find(k)
	if ok {
		return number, false
	}
	number = s.keys.n
	s.keys.add(k)
	s.table[slot] = k[0]&0xffffffff00000000 | uint64(number+1)
	if s.keys.n*4 > len(s.table)*3 {
		s.grow()
	}
	return number, true
}

func (s *visited) grow() {
	s.table = make([]uint64, 2*len(s.table))
	mask := len(s.table) - 1
	for n := range s.keys.n {
		k := *s.keys.at(n)
		i := int(k[0]) & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = k[0]&0xffffffff00000000 | uint64(n+1)
	}
}

func (s *visited) bytes() int64 { return int64(len(s.table))*8 + s.keys.bytes(16) }

// blocks is an array that grows without copying what it holds.
type blocks[T any] struct {
	all [][]T
	n   int
}

const blockLen = 1 << 8

func (b *blocks[T]) add(v T) {
	if b.n%blockLen == 0 {
		b.all = append(b.all, make([]T, blockLen))
	}
	b.all[b.n/blockLen][b.n%blockLen] = v
	b.n++
}

func (b *blocks[T]) at(i int) *T { return &b.all[i/blockLen][i%blockLen] }

// bytes is the memory taken, given the size of one element.
func (b *blocks[T]) bytes(each int64) int64 { return int64(len(b.all)) * blockLen * each }

// appendCoded appends the code of a state. Most numbers in a state are small, so
// each is kept as a varint.
func appendCoded(b []byte, v []uint32) []byte {
	for _, x := range v {
		b = binary.AppendUvarint(b, uint64(x))
	}
	return b
}

// decode reads a state and returns the length of its code.
func decode(coded []byte, v []uint32) (n int) {
	for i := range v {
		x, k := binary.Uvarint(coded[n:])
		v[i] = uint32(x)
		n += k
	}
	return n
}

// queue is states that wait to be continued, in order; every batchLen-th can be
// found at once.
type queue struct {
	width  int
	blocks [][]byte // a state never spans two
	starts []start  // of states 0, batchLen, 2*batchLen …
	n      int
}

type start struct{ block, at int }

const (
	batchLen   = 128
	queueBlock = 1 << 14
)

// push adds a state, given its code, and its number.
func (q *queue) push(coded []byte, number uint32) {
	last := len(q.blocks) - 1
	if need := binary.MaxVarintLen32 + len(coded); last < 0 || cap(q.blocks[last])-len(q.blocks[last]) < need {
		q.blocks = append(q.blocks, make([]byte, 0, max(queueBlock, need)))
		last++
	}
	b := q.blocks[last]
	if q.n%batchLen == 0 {
		q.starts = append(q.starts, start{last, len(b)})
	}
	b = binary.AppendUvarint(b, uint64(number))
	q.blocks[last] = append(b, coded...)
	q.n++
}

// batch calls f with the states from number b*batchLen on, up to batchLen.
func (q *queue) batch(b int, f func(v []uint32, number uint32)) {
	v := make([]uint32, q.width)
	block, at := q.starts[b].block, q.starts[b].at
	for range min(batchLen, q.n-b*batchLen) {
		if at == len(q.blocks[block]) {
			block, at = block+1, 0
		}
		rest := q.blocks[block][at:]
		number, n := binary.Uvarint(rest)
		at += n + decode(rest[n:], v)
		f(v, uint32(number))
	}
}

// batches is how many calls of batch there are to make.
func (q *queue) batches() int { return len(q.starts) }

func (q *queue) bytes() int64 {
	total := int64(cap(q.starts)) * 16
	for _, b := range q.blocks {
		total += int64(cap(b))
	}
	return total
}
