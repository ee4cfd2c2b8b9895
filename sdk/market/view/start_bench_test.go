package view

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// BenchmarkStart puts the accounts of the reference market into an empty view: 40,000 nodes, 20,000 leases and 320,000
// device claims. Decoding is not in it.
func BenchmarkStart(b *testing.B) {
	key := func(kind string, n int) solana.PublicKey {
		return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(kind), uint64(n)))
	}
	type account struct {
		key   solana.PublicKey
		value any
	}
	var all []account
	for i := range 40_000 {
		n := &market.Node{Meta: market.Meta{Address: key("node", i)}}
		n.NodeKey, n.Spec.Gpus, n.Status = key("key", i), 8, uint8(market.NodeActive)
		all = append(all, account{n.Address, n})
		if i%2 == 0 {
			l := &market.Lease{Meta: market.Meta{Address: key("lease", i)}}
			l.Lease.Node, l.Status = n.Address, uint8(market.LeaseRunning)
			all = append(all, account{l.Address, l})
		}
		for g := range 8 {
			all = append(all, account{key("claim", 8*i+g), &market.Device{Node: n.Address, Identity: key("gpu", 8*i+g)}})
		}
	}
	for b.Loop() {
		v := New(Options{})
		for _, a := range all {
			v.Put(a.key, a.value)
		}
	}
}
