package sim

import (
	"bytes"
	"slices"

	"github.com/gagliardetto/solana-go"
)

// sortedKeys lists a map's keys in one order: what is done in the order of a map differs from run to run.
func sortedKeys[V any](m map[solana.PublicKey]V) []solana.PublicKey {
	out := make([]solana.PublicKey, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// submap returns the map at a key, which it makes when there is none.
func submap[K, L comparable, V any](m map[K]map[L]V, key K) map[L]V {
	if m[key] == nil {
		m[key] = map[L]V{}
	}
	return m[key]
}
