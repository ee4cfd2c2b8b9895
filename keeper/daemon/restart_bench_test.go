package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// restartNodes is the size of the reference market; restartStatements what one of 19 keepers signs about it in a
// period; restartHours the periods of an hour of which records are kept by default.
const restartNodes, restartStatements, restartHours = 40_000, 68_000, 26

func benchAccount(kind string, n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(kind), uint64(n)))
}

// restartStore makes a store as a keeper has it that ran for long: the last period open, the one before sealed, and the
// others packed.
func restartStore(b *testing.B, path string, keeper solana.PublicKey) {
	s, err := store.Open(path, store.Options{Keeper: keeper, Domain: records.Domain{1}})
	require.NoError(b, err)
	var nodes []solana.PublicKey
	for i := range restartStatements {
		nodes = append(nodes, benchAccount("node", i))
	}
	slices.SortFunc(nodes, func(x, y solana.PublicKey) int { return bytes.Compare(x[:], y[:]) })
	for p := range records.Period(restartHours) {
		var all []records.CheckStatement
		for _, n := range nodes {
			all = append(all, records.CheckStatement{
				Domain: records.Domain{1}, Node: n, Period: p, Kind: records.CheckLiveness, Passed: true,
				CoveredSeconds: 3600, CheckedAt: int64(p+1) * 3600,
			})
		}
		_, err = s.Pack()
		require.NoError(b, err)
		_, _, err = s.Sign(all, func(x records.CheckStatement) (solana.Signature, error) {
			half := sha256.Sum256(append(x.Node[:], byte(p)))
			return solana.SignatureFromBytes(append(half[:], half[:]...)), nil
		})
		require.NoError(b, err)
		if p < restartHours-1 {
			require.NoError(b, s.Seal(p))
		}
	}
	require.NoError(b, s.Close())
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.Logf("a store of %d MB", info.Size()>>20)
}

// A keeper starts with a store that holds the last hours' statements, and with 40,000 nodes, 20,000 leases and 320,000
// device claims on chain. What a node's RPC takes to send the accounts is not in it. Statements of periods that may
// still count are read once more (period-cpu-ms each), to publish the failures among them.
func BenchmarkRestart(b *testing.B) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "keeper.db")
	restartStore(b, path, key.PublicKey())
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
	claims := make([]solana.PublicKey, len(devices))
	for i := range claims {
		claims[i] = benchAccount("claim", i)
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var opened, read, loaded time.Duration
	for b.Loop() {
		began := cpu()
		s, err := store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}})
		require.NoError(b, err)
		opened += cpu() - began
		began = cpu()
		mine, err := s.Statements(restartHours / 2)
		require.NoError(b, err)
		require.Len(b, mine, restartStatements)
		read += cpu() - began
		began = cpu()
		x := view.New(view.Options{Listeners: []view.Listener{match.New()}})
		for _, n := range nodes {
			x.Put(n.Address, n)
		}
		for _, l := range leases {
			x.Put(l.Address, l)
		}
		for i, d := range devices {
			x.Put(claims[i], d)
		}
		loaded += cpu() - began
		require.NoError(b, s.Close())
	}
	b.ReportMetric(float64(opened.Milliseconds())/float64(b.N), "store-cpu-ms")
	b.ReportMetric(float64(read.Milliseconds())/float64(b.N), "period-cpu-ms")
	b.ReportMetric(float64(loaded.Milliseconds())/float64(b.N), "index-cpu-ms")
}
