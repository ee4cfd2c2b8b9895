//go:build linux && !race

package daemon

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/internal/testkit/scale"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// listForm is how a node writes the accounts of a list.
type listForm string

const (
	formBase64    listForm = "base64"
	formZstd      listForm = "base64+zstd"
	formAddresses listForm = "addresses" // a dataSlice without a byte
)

// listFile writes an answer of getProgramAccounts behind its id to a file, so that the server of a benchmark does next to nothing while
// it is read. Of ten accounts eight are device claims, one is a node, and each second one of the rest a lease
// or an order, as in the reference market. What a program counts or names is random, and what it rarely sets is zero.
func listFile(b *testing.B, accounts int, form listForm, squeezed bool) string {
	path := filepath.Join(b.TempDir(), "list")
	f, err := os.Create(path)
	require.NoError(b, err)
	defer f.Close()
	var to io.Writer = f
	if squeezed {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		require.NoError(b, err)
		defer func() { require.NoError(b, z.Close()) }()
		to = z
	}
	w := bufio.NewWriterSize(to, 1<<20)
	defer func() { require.NoError(b, w.Flush()) }()
	z, err := zstd.NewWriter(nil)
	require.NoError(b, err)
	d := drawer{rand.NewChaCha8([32]byte{1})}
	_, _ = w.WriteString(`"result":{"context":{"apiVersion":"4.0.0","slot":1000},"value":[`)
	for i := range accounts {
		data := d.account(b, i)
		encoding, text, size := string(formBase64), data, len(data)
		switch form {
		case formZstd:
			encoding, text = string(formZstd), z.EncodeAll(data, nil)
		case formAddresses:
			text = nil
		}
		if i > 0 {
			_ = w.WriteByte(',')
		}
		key := d.key()
		if i == 0 {
			key = market.MarketAddress()
		}
		_, err := fmt.Fprintf(w, `{"account":{"data":[%q,%q],"executable":false,"lamports":%d,"owner":%q,"rentEpoch":18446744073709551615,"space":%d},"pubkey":%q}`,
			base64.StdEncoding.EncodeToString(text), encoding, 5_080*(size+128), market.ProgramID, size, key)
		require.NoError(b, err)
	}
	_, _ = w.WriteString("]}}\n")
	return path
}

// drawer draws accounts.
type drawer struct{ *rand.ChaCha8 }

func (d drawer) key() (k solana.PublicKey) {
	_, _ = d.Read(k[:])
	return k
}

func (d drawer) small(n uint64) uint64 { return d.Uint64() % n }

func (d drawer) account(b *testing.B, i int) []byte {
	encode := func(disc [8]byte, v interface{ Marshal() ([]byte, error) }) []byte {
		raw, err := v.Marshal()
		require.NoError(b, err)
		return append(disc[:], raw...)
	}
	switch {
	case i == 0:
		return encode(bindings.Account_Market, bindings.Market{Version: market.LayoutVersion})
	case i%10 == 1:
		n := bindings.Node{
			Provider: d.key(), NodeKey: d.key(), EvidenceHash: d.key(), Price: d.small(1 << 22), AskSince: int64(d.small(1 << 31)),
			AvailableSince: int64(d.small(1 << 31)), RequiredStake: d.small(1 << 32), RegisteredAt: int64(d.small(1 << 31)),
			EvidenceExpiry: int64(d.small(1 << 31)), LastReportPeriod: d.small(1 << 20), ChecksPassed: d.small(1 << 20), ChecksTotal: 1 << 20,
			FeesCompleted: d.small(1 << 32), UpSecs: d.small(1 << 24), Status: uint8(market.NodeActive), Version: market.LayoutVersion,
		}
		n.Spec.Gpus, n.Spec.Model = 8, uint16(d.small(17))
		return encode(bindings.Account_Node, n)
	case i%20 == 2:
		l := bindings.Lease{
			Order: d.key(), Node: d.key(), Provider: d.key(), Customer: d.key(), Keeper: d.key(), RentPayer: d.key(), ConnectionHash: d.key(),
			NodeKey: d.key(), Price: d.small(1 << 22), Score: d.small(1 << 40), Reserved: d.small(1 << 30), Paid: d.small(1 << 30),
			Status: uint8(market.LeaseRunning), Version: market.LayoutVersion,
		}
		return encode(bindings.Account_Lease, l)
	case i%20 == 12:
		o := bindings.Order{Customer: d.key(), RentPayer: d.key(), ImageDigest: d.key(), Nonce: d.Uint64(), MaxPrice: d.small(1 << 22), Version: market.LayoutVersion}
		return encode(bindings.Account_Order, o)
	}
	disc := market.Discriminator(market.KindDevice)
	node, identity, payer := d.key(), d.key(), d.key()
	out := append(append(append(disc[:], node[:]...), identity[:]...), payer[:]...)
	return binary.LittleEndian.AppendUint32(append(out, 1, market.LayoutVersion, 0, 0), uint32(d.small(1<<31)))
}

// listServer answers with a list from a file, and counts the bytes that it has sent.
func listServer(b *testing.B, path string, squeezed bool) (*fakerpc.Server, *atomic.Int64) {
	srv, sent := fakerpc.New(b), new(atomic.Int64)
	srv.Answer("getSlot", 1000)
	srv.Stream("getProgramAccounts", func(w io.Writer, id string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head := []byte(`{"jsonrpc":"2.0","id":` + id + `,`)
		if squeezed { // members of gzip may follow each other
			w.(http.ResponseWriter).Header().Set("Content-Encoding", "gzip")
			var squeezed bytes.Buffer
			z := gzip.NewWriter(&squeezed)
			_, _ = z.Write(head)
			_ = z.Close()
			head = squeezed.Bytes()
		}
		if _, err = w.Write(head); err != nil {
			return err
		}
		n, err := io.Copy(w, f)
		sent.Store(n + int64(len(head)))
		return err
	})
	return srv, sent
}

// peakHeap looks at the heap until stop is called, which returns the most that was in use, with what nobody had collected yet.
func peakHeap() (stop func() uint64) {
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var peak uint64
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(s)
			peak = max(peak, s[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				most <- peak
				return
			}
		}
	}()
	return func() uint64 { close(done); return <-most }
}

// processTime is the processor time that this process has used.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func listClient(b *testing.B, srv *fakerpc.Server) *chain.Client {
	c, err := chain.New(chain.Options{
		Endpoints: []chain.Endpoint{{RPC: srv.URL(), WS: srv.WS()}}, Timeout: time.Minute, Lists: chain.Bound{Bytes: 4 << 30, Accounts: 1 << 25},
	})
	require.NoError(b, err)
	b.Cleanup(c.Close)
	return c
}

// BenchmarkFirstRead is what a keeper's watcher, view and matcher take from nothing until they are ready: the list of all accounts
// comes from a server in the same process, which reads a file. wire-MB are of the answer, cpu-s of the whole process.
func BenchmarkFirstRead(b *testing.B) {
	for _, accounts := range []int{40_000, 1_000_000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			if accounts > 40_000 {
				scale.Bench(b)
			}
			srv, sent := listServer(b, listFile(b, accounts, formBase64, false), false)
			c := listClient(b, srv)
			var used time.Duration
			var peak, held uint64
			for b.Loop() {
				runtime.GC()
				stop, began := peakHeap(), processTime(b)
				v := view.New(view.Options{Listeners: []view.Listener{match.New()}})
				w, err := watch.New(watch.Options{Client: c, Program: market.ProgramID, Certain: market.MarketAddress(), Log: zerolog.Nop()})
				require.NoError(b, err)
				ctx, cancel := context.WithCancel(b.Context())
				done := make(chan error)
				go func() { done <- w.Run(ctx, func(e watch.Event) { require.NoError(b, v.Apply(e)) }) }()
				<-w.Ready()
				used += processTime(b) - began
				peak = max(peak, stop())
				require.Equal(b, accounts, w.Status().Accounts)
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				held = m.HeapAlloc
				cancel()
				<-done
				runtime.KeepAlive(v)
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(float64(sent.Load())/1e6, "wire-MB")
			b.ReportMetric(float64(peak>>20), "peak-MiB")
			b.ReportMetric(float64(held>>20), "held-MiB")
		})
	}
}

// BenchmarkListForms reads the same list as nodes can write it, and keeps none of it: what a list of the addresses alone saves, and what
// compression does. base64+zstd is not read: no program of ours asks for it.
func BenchmarkListForms(b *testing.B) {
	const accounts = 40_000
	for name, f := range map[string]struct {
		form     listForm
		squeezed bool
	}{
		"base64": {formBase64, false}, "addresses": {formAddresses, false}, "zstd": {formZstd, false},
		"base64,gzip": {formBase64, true}, "addresses,gzip": {formAddresses, true},
	} {
		b.Run(name, func(b *testing.B) {
			path := listFile(b, accounts, f.form, f.squeezed)
			info, err := os.Stat(path)
			require.NoError(b, err)
			if f.form == formZstd {
				for b.Loop() {
				}
				b.ReportMetric(float64(info.Size())/1e6, "wire-MB")
				return
			}
			srv, _ := listServer(b, path, f.squeezed)
			c := listClient(b, srv)
			var used time.Duration
			for b.Loop() {
				began := processTime(b)
				if f.form == formAddresses {
					keys, err := c.ProgramAddresses(b.Context(), market.ProgramID, chain.Confirmed, chain.Filter{})
					require.NoError(b, err)
					require.Len(b, keys, accounts)
				} else {
					got, err := c.Each(b.Context(), market.ProgramID, chain.Confirmed, chain.Lists{}, func() {}, func(chain.Account) {})
					require.NoError(b, err)
					require.Equal(b, accounts, got.Accounts)
				}
				used += processTime(b) - began
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(float64(info.Size())/1e6, "wire-MB")
		})
	}
}
