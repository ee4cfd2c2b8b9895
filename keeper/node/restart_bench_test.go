package node

import (
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/store"
)

// restartNodes is the size of the reference market; restartStatements what one of 19 keepers signs about it in a period.
const restartNodes, restartStatements = 40_000, 68_000

func benchAccount(kind string, n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(kind), uint64(n)))
}

// A keeper starts with a store that holds the last hours' statements, and with 40,000 nodes, 20,000 leases and 320,000
// device claims on chain. What a node's RPC takes to send the accounts is not in it.
func BenchmarkRestart(b *testing.B) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "keeper.db")
	s, err := store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: wire.Domain{1}})
	require.NoError(b, err)
	for p := range wire.Period(2) {
		var all []wire.CheckStatement
		for i := range restartStatements {
			all = append(all, wire.CheckStatement{
				Domain: wire.Domain{1}, Node: benchAccount("node", i), Period: p, Kind: wire.CheckLiveness, Passed: true,
				CoveredSeconds: 3600, CheckedAt: int64(p+1) * 3600,
			})
		}
		_, _, err = s.Sign(all, func(wire.CheckStatement) (solana.Signature, error) { return solana.Signature{}, nil })
		require.NoError(b, err)
		require.NoError(b, s.Seal(p))
	}
	require.NoError(b, s.Close())
	var nodes []*market.Node
	var leases []*market.Lease
	var devices []*market.Device
	for i := range restartNodes {
		n := &market.Node{Meta: market.Meta{Address: benchAccount("node", i)}}
		n.Node.NodeKey, n.Spec.Gpus, n.Node.Status = benchAccount("key", i), 8, uint8(market.NodeActive)
		nodes = append(nodes, n)
		if i%2 == 0 {
			l := &market.Lease{Meta: market.Meta{Address: benchAccount("lease", i)}}
			l.Lease.Node, l.Lease.Status = n.Address, uint8(market.LeaseRunning)
			leases = append(leases, l)
		}
		for g := range 8 {
			devices = append(devices, &market.Device{Node: n.Address, Identity: benchAccount("gpu", 8*i+g)})
		}
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var opened, loaded time.Duration
	for b.Loop() {
		began := cpu()
		s, err := store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: wire.Domain{1}})
		require.NoError(b, err)
		opened += cpu() - began
		began = cpu()
		x := index.New()
		for _, n := range nodes {
			x.Put(n.Address, n)
		}
		for _, l := range leases {
			x.Put(l.Address, l)
		}
		for i, d := range devices {
			x.Put(benchAccount("claim", i), d)
		}
		loaded += cpu() - began
		require.NoError(b, s.Close())
	}
	b.ReportMetric(float64(opened.Milliseconds())/float64(b.N), "store-cpu-ms")
	b.ReportMetric(float64(loaded.Milliseconds())/float64(b.N), "index-cpu-ms")
}
