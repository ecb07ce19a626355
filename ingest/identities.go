package ingest

import (
	"encoding/binary"
	"math/bits"
)

// identities remembers which tests a document holds, to find those that it holds twice. It
// keeps a hash of 64 bits for each, and nothing else: with nine million tests that is 72 MB,
// and the chance that two tests are taken for one is 2 in a million. The hash has no random
// seed, so the same document always gives the same answer.
//
// The hashes are spread over buckets by their first bits and only appended. Equal ones are
// looked for at the end, bucket by bucket, in a small table: one table for all would have to
// be copied when it grows, and would need three times the memory at that moment.
type identities struct {
	buckets [256]bucket
}

// bucket holds hashes in chunks that never move.
type bucket struct {
	chunks [][]uint64
	count  int
}

const maxChunk = 4096 // hashes

func (ids *identities) add(hash uint64) {
	b := &ids.buckets[hash>>56]
	last := len(b.chunks) - 1
	if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
		size := min(max(4, b.count), maxChunk)
		b.chunks = append(b.chunks, make([]uint64, 0, size))
		last++
	}
	b.chunks[last] = append(b.chunks[last], hash)
	b.count++
}

// repeated returns how many of the tests came after an equal one.
func (ids *identities) repeated() int64 {
	var repeated int64
	var table []uint64 // open addressing; 0 is free
	for i := range ids.buckets {
		b := &ids.buckets[i]
		size := 1 << bits.Len(uint(2*b.count))
		if size > len(table) {
			table = make([]uint64, size)
		}
		table := table[:size]
		clear(table)
		for _, chunk := range b.chunks {
			for _, hash := range chunk {
				hash = max(hash, 1)
				at := int(hash) & (size - 1)
				for table[at] != 0 && table[at] != hash {
					at = (at + 1) & (size - 1)
				}
				if table[at] == hash {
					repeated++
				}
				table[at] = hash
			}
		}
	}
	return repeated
}

// hashBytes mixes b into a hash, eight bytes at a time, by folded multiplication as in wyhash
// (Wang Yi, 2019). It distinguishes ("a", "bc") from ("ab", "c"), since it mixes in the length.
func hashBytes(hash uint64, b []byte) uint64 {
	const k0, k1, k2 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3
	hash = fold(hash^k0, uint64(len(b))^k1)
	for len(b) >= 8 {
		hash = fold(hash^binary.LittleEndian.Uint64(b)^k1, hash^k2)
		b = b[8:]
	}
	var rest uint64
	for i, c := range b {
		rest |= uint64(c) << (8 * i)
	}
	return fold(hash^rest^k2, hash^k0)
}

// fold multiplies and keeps both halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}
