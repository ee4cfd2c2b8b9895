package daemon

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	raw bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.raw.Write(p)
}

// with counts the lines that contain a text.
func (l *lines) with(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.raw.Bytes(), []byte(text))
}

// flood publishes so many batches of statements about one node's leases, none of which there is.
func (l *dishonest) flood(p uint64, batches int) {
	for i := range batches {
		m := messages.StatementsAnswer{Version: messages.Version}
		for j := range gossip.MaxBatch {
			st := records.CheckStatement{
				Domain: l.domain, Node: retired, Period: records.Period(p), Kind: records.CheckLiveness, CheckedAt: int64(p)*periodSecs + 1,
			}
			binary.LittleEndian.PutUint64(st.Lease[:], uint64(i*gossip.MaxBatch+j)+1)
			sig, err := st.Sign(l.wallet)
			require.NoError(l.t, err)
			m.Statements = append(m.Statements, statement.Signed{Keeper: l.wallet.PublicKey(), Statement: st, Signature: sig}.Message())
		}
		require.NoError(l.t, l.topic.Publish(l.t.Context(), m))
	}
}

func (r *replica) heldOf(keeper solana.PublicKey, p uint64) (n int) {
	for _, s := range r.k.pool.Period(records.Period(p)) {
		if s.Keeper == keeper {
			n++
		}
	}
	return n
}

// A keeper that signs as much as it can fills the memory of another, all of whose parts run, with what the market's size
// allows, and its log with one line a period.
func TestAFloodOfStatementsIsHeldByTheMarketsSize(t *testing.T) {
	t.Parallel()
	const most, batches, periods = 1_100, 20, 3
	var log lines
	chain, keepers := startAll(t, 1, func(r *replica) { r.log = &log })
	l, r := newDishonest(t, chain, keepers), keepers[0]
	r.run()
	defer r.kill()
	var heap runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&heap)
	before := heap.HeapAlloc
	// On a busy machine a period may be over before its statements came: then another one says how many are held.
	full, seen := 0, map[uint64]bool{}
	for end := time.Now().Add(waitLimit); full < periods; {
		require.True(t, time.Now().Before(end), "%d of %d floods came", full, periods)
		p := period()
		if seen[p] {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		seen[p] = true
		l.flood(p, batches)
		for last := -1; ; time.Sleep(200 * time.Millisecond) {
			n := r.heldOf(l.wallet.PublicKey(), p)
			require.LessOrEqual(t, n, most, "of %d statements about one node", batches*gossip.MaxBatch)
			if n == last {
				break
			}
			last = n
		}
		if r.heldOf(l.wallet.PublicKey(), p) > 900 {
			full++
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&heap)
	t.Logf("%d statements held, %d KiB more memory, %d lines of the log", r.k.pool.Len(), (int64(heap.HeapAlloc)-int64(before))/1024, log.with(statement.ErrTooMany.Error()))
	require.LessOrEqual(t, log.with(statement.ErrTooMany.Error()), len(seen))
}

// How many statements a keeper holds decides nothing: one that holds none votes as the others do.
func TestABoundThatDiffersSplitsNoReport(t *testing.T) {
	t.Parallel()
	chain, keepers := startAll(t, 4)
	newAgent(t, chain, 1, solana.PublicKey{77}, keepers)
	keepers[0].k.pool.Most = func() int { return 0 }
	keepers[1].k.pool.Most = func() int { return 2 }
	for _, r := range keepers {
		r.run()
		defer r.kill()
	}
	// On a busy machine a keeper's vote may come when a report is final already.
	for end, p := time.Now().Add(waitLimit), period()+1; ; p++ {
		require.True(t, time.Now().Before(end), "no report has the votes of all keepers")
		p = untilOne(t, chain, p)
		time.Sleep(periodSecs * time.Second)
		same := 0
		for _, root := range chain.voted(p) {
			if root == chain.final()[p] {
				same++
			}
		}
		if set := keepers[0].k.engine.Set(records.Period(p), chain.final()[p]); same == len(keepers) && set != nil && len(set.Leaves) > 0 {
			break
		}
	}
	require.Zero(t, keepers[0].k.pool.Len())
	require.NotZero(t, keepers[2].k.pool.Len())
}
