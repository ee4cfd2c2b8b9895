package work

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

// Hash is a node of a product's Merkle trees.
type Hash = [32]byte

const chunkBytes = 4 * ChunkEntries

// hashChunk hashes 32 encoded entries as a leaf.
func hashChunk(chunk []byte) Hash {
	var m [1 + chunkBytes]byte
	copy(m[1:], chunk)
	return sha256.Sum256(m[:])
}

// productRoot is the root over the roots of the rows, which it leaves alone.
func productRoot(rowRoots []Hash) Hash {
	return tree.Root(append([]Hash(nil), rowRoots...))
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
