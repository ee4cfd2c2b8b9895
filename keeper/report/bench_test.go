package report

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// The reference size: 40,000 nodes, half of them leased, 19 keepers, of which six may be dishonest; one node in a
// hundred fails for a while.
const (
	benchNodes   = 40_000
	benchKeepers = 19
	benchPeriod  = records.Period(10)
	benchSecs    = 3600
)

func benchKey(kind string, n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(kind), uint64(n)))
}

// fixture is the statements of the keepers of a period.
type fixture struct {
	frame   statement.Frame
	weights Weights
	roster  *committee.Roster
	sets    [][]records.CheckStatement // by keeper
	raws    [][]byte
	refs    []Ref
}

func newFixture(b *testing.B, nodes int) *fixture {
	m := &fixture{frame: statement.Frame{Domain: domain, Period: benchPeriod, Secs: benchSecs}, weights: Weights{}}
	for k := range benchKeepers {
		m.weights[benchKey("keeper", k)] = 1000
	}
	m.roster = committee.NewRoster(committee.Seed{1}, m.weights)
	m.sets = make([][]records.CheckStatement, benchKeepers)
	for n := range nodes {
		sits := map[int]bool{}
		for _, k := range m.roster.Draw(nil, benchKey("node", n)) {
			sits[k] = true
		}
		for k := range benchKeepers {
			m.sets[k] = appendStated(m.sets[k], n, k, sits[k])
		}
	}
	for k, all := range m.sets {
		raw, count := statement.EncodeSet(m.frame, all)
		require.Len(b, all, count)
		m.raws = append(m.raws, raw)
		m.refs = append(m.refs, Ref{m.roster.Key(k), statement.Digest(raw)})
	}
	return m
}

// appendStated appends what a keeper states about a node of which every second is leased, and one in a hundred fails for a while.
func appendStated(all []records.CheckStatement, n, k int, sits bool) []records.CheckStatement {
	start, node := int64(benchPeriod)*benchSecs, benchKey("node", n)
	sign := func(kind records.CheckKind, lease solana.PublicKey, passed bool, covered uint32, at int64) {
		s := records.CheckStatement{
			Domain: domain, Node: node, Period: benchPeriod, Kind: kind, Passed: passed, CoveredSeconds: covered,
			CheckedAt: start + at, Lease: lease,
		}
		if kind == records.CheckInventory {
			s.Detail = benchKey("device", n)
		}
		all = append(all, s)
	}
	if n%2 == 0 || sits {
		subjects := []solana.PublicKey{{}}
		if n%2 == 0 {
			subjects = append(subjects, benchKey("lease", n))
		}
		for _, lease := range subjects {
			if n%100 == 0 {
				sign(records.CheckLiveness, lease, true, 1800, int64(1800+k))
				sign(records.CheckLiveness, lease, false, 60, int64(1860+k))
				sign(records.CheckLiveness, lease, true, 1740, benchSecs)
			} else {
				sign(records.CheckLiveness, lease, true, benchSecs, benchSecs)
			}
		}
	}
	if sits {
		sign(records.CheckInventory, solana.PublicKey{}, true, 0, int64(n%900))
		sign(records.CheckHealth, solana.PublicKey{}, true, 0, int64(n%900))
	}
	return all
}

func (m *fixture) tally(b *testing.B) *Tally {
	d := NewTally(m.frame)
	for k, raw := range m.raws {
		_, err := d.Add(m.refs[k].Keeper, raw)
		require.NoError(b, err)
	}
	d.Prepare(m.roster)
	return d
}

func (m *fixture) basis() Basis {
	return Basis{Weights: m.weights, Roster: m.roster, Sets: m.refs}
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// cpu is the processor time that this process has used: on a busy machine the wall clock says little.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perOp reports processor time.
func perOp(b *testing.B, began time.Duration) {
	b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// Build and check of a period's report: what a keeper does between the last set of statements and its vote. The memory
// is all that the counted sets, the leaves and the tree hold at once.
func BenchmarkReport(b *testing.B) {
	m := newFixture(b, benchNodes)
	m.sets = nil
	before := heap()
	d := m.tally(b)
	var set *Set
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		leaves, err := d.Build(m.basis())
		require.NoError(b, err)
		set, err = NewSet(leaves)
		require.NoError(b, err)
	}
	perOp(b, began)
	b.ReportMetric((float64(heap())-float64(before))/(1<<20), "MiB-held")
	b.ReportMetric(float64(len(set.Leaves)), "leaves")
	runtime.KeepAlive(d)
	runtime.KeepAlive(m)
}

// What arrives during the period and after it: one keeper's set, read and counted.
func BenchmarkCountSet(b *testing.B) {
	m := newFixture(b, benchNodes)
	d := m.tally(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(m.raws[0])))
	began := cpu(b)
	for b.Loop() {
		delete(d.sets, m.refs[0])
		_, err := d.Add(m.refs[0].Keeper, m.raws[0])
		require.NoError(b, err)
	}
	perOp(b, began)
	per := float64((cpu(b) - began).Nanoseconds()) / float64(b.N) / float64(len(m.sets[0]))
	b.ReportMetric(per, "ns/statement")
	b.ReportMetric(float64(len(m.raws[0]))/float64(len(m.sets[0])), "B/statement")
	b.ReportMetric(float64(len(m.sets[0])), "statements")
}

// The way before: every statement travels with its signature and everything is sorted into maps when the period is
// over. Signatures are left out here; each takes what BenchmarkSignature says.
func BenchmarkReportNaive(b *testing.B) {
	m := newFixture(b, benchNodes)
	in := Input{Period: benchPeriod, PeriodSecs: benchSecs, Weights: m.weights, Seed: committee.Seed{1}}
	for k, all := range m.sets {
		for _, s := range all {
			in.Statements = append(in.Statements, statement.Signed{Keeper: m.refs[k].Keeper, Statement: s})
		}
	}
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		_, err := NewSet(naive(in))
		require.NoError(b, err)
	}
	perOp(b, began)
	b.ReportMetric(float64(len(in.Statements)), "statements")
}

// One statement's signature, which manifests save all but one of a keeper and period.
func BenchmarkSignature(b *testing.B) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(b, err)
	s := stated(key.PublicKey(), benchKey("node", 1), records.CheckLiveness, true, 60, 10)
	s.Signature, err = s.Statement.Sign(key)
	require.NoError(b, err)
	began := cpu(b)
	for b.Loop() {
		require.NoError(b, s.Verify(domain, records.Wallets))
	}
	perOp(b, began)
}

// Draws of all committees, once a period.
func BenchmarkPrepare(b *testing.B) {
	m := newFixture(b, benchNodes)
	d := m.tally(b)
	began := cpu(b)
	for b.Loop() {
		d.roster = nil
		d.Prepare(m.roster)
	}
	perOp(b, began)
}

// The leaves of a report as they travel and are kept.
func BenchmarkReadLeaves(b *testing.B) {
	m := newFixture(b, benchNodes)
	leaves, err := m.tally(b).Build(m.basis())
	require.NoError(b, err)
	set, err := NewSet(leaves)
	require.NoError(b, err)
	raw := set.EncodeLeaves()
	b.SetBytes(int64(len(raw)))
	began := cpu(b)
	for b.Loop() {
		_, err := ReadLeaves(raw, benchPeriod, set.Root)
		require.NoError(b, err)
	}
	perOp(b, began)
}
