package work

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash is a node of the commitment's trees.
type Hash = [32]byte

const chunkBytes = 4 * ChunkEntries

// hashChunk hashes 32 encoded entries as a leaf.
func hashChunk(chunk []byte) Hash {
	var m [1 + chunkBytes]byte
	copy(m[1:], chunk)
	return sha256.Sum256(m[:])
}

func hashPair(left, right *Hash) Hash {
	var m [65]byte
	m[0] = 1
	copy(m[1:], left[:])
	copy(m[33:], right[:])
	return sha256.Sum256(m[:])
}

// foldLevel replaces level by its parents, in place, and returns them. A last
// node without a partner moves up unchanged.
func foldLevel(level []Hash) []Hash {
	half := (len(level) + 1) / 2
	for i := 0; i < len(level)/2; i++ {
		level[i] = hashPair(&level[2*i], &level[2*i+1])
	}
	if len(level)%2 == 1 {
		level[half-1] = level[len(level)-1]
	}
	return level[:half]
}

// foldRoot destroys nodes and returns the root of the tree over them.
func foldRoot(nodes []Hash) Hash {
	for len(nodes) > 1 {
		nodes = foldLevel(nodes)
	}
	return nodes[0]
}

// merklePath returns the siblings of nodes[index], bottom up, without changing
// nodes.
func merklePath(nodes []Hash, index int) []Hash {
	level := append([]Hash(nil), nodes...)
	var path []Hash
	for len(level) > 1 {
		if s := index ^ 1; s < len(level) {
			path = append(path, level[s])
		}
		level = foldLevel(level)
		index /= 2
	}
	return path
}

// pathLength is the number of siblings that a leaf at index has in a tree of
// count leaves.
func pathLength(index, count int) int {
	length := 0
	for count > 1 {
		if index^1 < count {
			length++
		}
		index /= 2
		count = (count + 1) / 2
	}
	return length
}

// climb returns the root that follows from node at index of count and its
// siblings, and the siblings it did not use. ok is false when there are too few.
func climb(node Hash, index, count int, siblings []Hash) (root Hash, rest []Hash, ok bool) {
	for count > 1 {
		if index^1 < count {
			if len(siblings) == 0 {
				return Hash{}, nil, false
			}
			if index%2 == 0 {
				node = hashPair(&node, &siblings[0])
			} else {
				node = hashPair(&siblings[0], &node)
			}
			siblings = siblings[1:]
		}
		index /= 2
		count = (count + 1) / 2
	}
	return node, siblings, true
}

// encodeEntries writes values as i32le to dst, which must be large enough.
func encodeEntries(dst []byte, values []int32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
	}
}

// chunkHashes appends the leaves of an encoded row to dst.
func chunkHashes(dst []Hash, row []byte) []Hash {
	for off := 0; off < len(row); off += chunkBytes {
		dst = append(dst, hashChunk(row[off:off+chunkBytes]))
	}
	return dst
}
