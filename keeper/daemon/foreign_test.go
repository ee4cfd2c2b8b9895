package daemon

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// logged keeps what a keeper logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns those that are about a node, and the length of the longest.
func (l *logged) lines(node solana.PublicKey) (about []string, longest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(l.b.String(), "\n") {
		if strings.Contains(line, node.String()) {
			about = append(about, line)
			longest = max(longest, len(line))
		}
	}
	return about, longest
}

// An inventory of 5 MB is not used, and one that is as large as an inventory may be fills no log either.
func TestLargeInventoriesFillNoLog(t *testing.T) {
	chain, keepers := startAll(t, 1)
	r, log := keepers[0], &logged{}
	r.log = log
	require.NoError(t, r.k.Close())
	r.start() // once more, with a log that is read
	a := newAgent(t, chain, 1, solana.PublicKey{}, keepers)
	show := func(gpus, name int) (bytes int) {
		inv := &messages.Inventory{GPUs: make([]messages.GPU, gpus), Simulated: true}
		for i := range inv.GPUs {
			inv.GPUs[i] = messages.GPU{Name: strings.Repeat("x", name), Identity: [32]byte{1, byte(i), byte(i >> 8), byte(i >> 16)}, TempC: 999, ECCErrors: 1}
		}
		enc, err := p2p.Encode(inv)
		require.NoError(t, err)
		a.claims.Store(inv)
		return len(enc)
	}
	size := show(74_000, 1)
	r.run()
	defer r.kill()
	said := func(what string) {
		before, _ := log.lines(a.account)
		require.Eventually(t, func() bool {
			now, _ := log.lines(a.account)
			return len(now) > len(before) && strings.Contains(strings.Join(now[len(before):], "\n"), what)
		}, waitLimit, 20*time.Millisecond)
		all, longest := log.lines(a.account)
		t.Logf("an inventory of %d bytes: %d lines about the node, the longest has %d bytes", size, len(all), longest)
		require.Less(t, longest, 4<<10)
	}
	said("inventory")
	size = show(64, 128) // as large as one may be
	said("inventory differs")
}

// A customer takes statements out of a keeper at a pace. A keeper takes at once all that it needs where five keepers check
// 40,000 nodes, which is more than with committees: 16 MB of statements, a set of 2.3 MB and leaves of 10.6 MB.
func TestStatementsAreServedWithinABudget(t *testing.T) {
	const many = 20_000
	chain, keepers := startAll(t, 2)
	r, member, customer := keepers[0], keepers[1].wallet, newWallet(t)
	require.NoError(t, keepers[1].k.Close())
	c := &market.Credits{Meta: market.Meta{Address: market.CreditsAddress(customer.PublicKey())}}
	c.Customer = customer.PublicKey()
	chain.put(c.Address, c)
	p := records.Period(period() + 1)
	statements := make([]records.CheckStatement, many)
	for i := range statements {
		statements[i] = records.CheckStatement{
			Domain: r.k.domain, Node: solana.PublicKey{9, byte(i), byte(i >> 8)}, Period: p, Kind: records.CheckLiveness, Passed: true,
			CoveredSeconds: 1, CheckedAt: int64(p)*periodSecs + 1,
		}
	}
	_, refused, err := r.k.store.SignStatements(statements)
	require.NoError(t, err)
	require.Empty(t, refused)
	r.run()
	defer r.kill()
	require.Eventually(t, func() bool { sealed, err := r.k.store.Sealed(); return err == nil && sealed > p }, waitLimit, 50*time.Millisecond)

	const enough = 12
	began := time.Now()
	customers := take(t, r, customer, p, func(t taken) bool { return t.refused >= 5 })
	asking := time.Since(began)
	others := take(t, r, member, p, func(t taken) bool { return t.answers >= enough })
	t.Logf("in %s a customer took %d bytes for %d bytes asked, refused %d times for bytes; a keeper took %d for %d", asking,
		customers.got, customers.asked, customers.refused, others.got, others.asked)
	require.NotZero(t, customers.answers, "it is answered")
	require.NotZero(t, customers.refused)
	a := p2p.ForMembers()
	require.Less(t, customers.got, a.Burst+a.Rate*int(asking/time.Second+1)+messages.MaxMessage) // the last one may be owed
	require.Zero(t, others.refused)
	require.GreaterOrEqual(t, others.answers, enough)
	require.Greater(t, others.got, 29<<20)
}

// taken is what a peer took out of a keeper.
type taken struct{ asked, got, answers, refused int }

// take asks for all statements of a period again and again until it has had enough.
func take(t *testing.T, r *replica, key solana.PrivateKey, p records.Period, enough func(taken) bool) taken {
	n, err := p2p.New(p2p.Options{Key: key, Client: true, Log: zerolog.Nop()})
	require.NoError(t, err)
	defer n.Close()
	require.NoError(t, n.Connect(t.Context(), r.k.node.Self()))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var out taken
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			req := messages.StatementsRequest{Version: messages.Version, Period: uint64(p)}
			for ctx.Err() == nil {
				got, err := p2p.Call[messages.StatementsRequest, messages.StatementsAnswer](ctx, n, r.k.publicKey(), gossip.StatementsProtocol, req)
				question, _ := p2p.Encode(req)
				answer, _ := p2p.Encode(got)
				var refusal *p2p.Error
				mu.Lock()
				out.asked += len(question)
				switch {
				case err == nil:
					out.got += len(answer)
					out.answers++
				case errors.As(err, &refusal) && refusal.Code == p2p.CodeRateLimited && strings.Contains(refusal.Message, "bytes"):
					out.refused++
				}
				if enough(out) {
					cancel()
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(50 * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return out
}
