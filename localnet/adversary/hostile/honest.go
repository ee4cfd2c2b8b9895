package hostile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// honest is what the market does for those who keep to its rules.
type honest struct {
	s    *suite
	node *p2p.Node // of the observer, who reads what keepers signed

	mu          sync.Mutex
	under       bool // attack
	first, last uint64
	jobs        map[bool]*Jobs
	final       map[uint64]bool
	checks      Checks
	read        map[uint64]int // periods, with how many keepers' statements
	faults      map[solana.PublicKey]bool
	came        Newcomers
	copied      Copies
}

func newHonest(ctx context.Context, s *suite) (*honest, error) {
	n, err := p2p.New(p2p.Options{Key: s.net.Keys.Customers[observer].Key, Client: true, Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = n.Close() })
	ofKeepers, _, _ := s.peers()
	for _, k := range ofKeepers {
		if err := n.Remember(k); err != nil {
			return nil, err
		}
	}
	return &honest{
		s: s, node: n, jobs: map[bool]*Jobs{false: {}, true: {}}, final: map[uint64]bool{}, read: map[uint64]int{}, faults: map[solana.PublicKey]bool{},
	}, nil
}

func now() uint64 { return uint64(time.Now().Unix()) / period }

// attacked says when the attack begins and ends. Judged are the periods that it covers from their first to their last
// second, and the one in which it begins.
func (h *honest) attacked(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.under = yes
	if yes {
		h.first = now()
	} else {
		h.last = now() - 1
	}
}

func (h *honest) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range []int{buyer, otherBuyer} {
		g.Go(func() error { return h.buy(ctx, h.s.net.Keys.Customers[c]) })
	}
	g.Go(func() error { return h.watch(ctx) })
	g.Go(func() error { return h.readStatements(ctx) })
	g.Go(func() error { return h.newcomers(ctx) })
	g.Go(func() error { return h.copies(ctx) })
	return g.Wait()
}

// buy has jobs run, one after the other.
func (h *honest) buy(ctx context.Context, w seed.Wallet) error {
	for ctx.Err() == nil {
		h.mu.Lock()
		j := h.jobs[h.under]
		h.mu.Unlock()
		out, err := h.s.net.Gantry(ctx, w, "deploy", "--gpu", "A100", "--count", "1", "--max-price", "2", "--duration", "10m", "--allow-simulated",
			"--run-to-completion", "--", "sh", "-c", "echo working; sleep 3; echo done")
		if err = errors.Join(err, out.Err()); ctx.Err() != nil {
			return nil
		}
		h.mu.Lock()
		j.Placed++
		if err == nil {
			j.Done++
			j.Longest = max(j.Longest, out.Took)
		} else {
			j.Errors = append(j.Errors, err.Error())
		}
		h.mu.Unlock()
		_ = wait.For(ctx, time.Second)
	}
	return nil
}

// watch notes final reports, and faults of honest machines.
func (h *honest) watch(ctx context.Context) error {
	nodes := map[solana.PublicKey]bool{}
	for _, n := range h.s.net.Nodes[:machines] {
		nodes[n.Address] = true
	}
	for ctx.Err() == nil {
		h.mu.Lock()
		for _, r := range h.s.view.Reports() {
			if r.State() == market.ReportFinal {
				h.final[r.Period] = true
			}
		}
		for _, f := range h.s.view.Faults() {
			if nodes[f.Fault.Node] {
				h.faults[f.Address] = true
			}
		}
		h.mu.Unlock()
		_ = wait.For(ctx, time.Second)
	}
	return nil
}

// readStatements asks honest keepers what they signed about honest machines in each period.
func (h *honest) readStatements(ctx context.Context) error {
	for at := now() - 1; ctx.Err() == nil; at++ {
		for sealed := int64(at+1)*period + 5; time.Now().Unix() < sealed && ctx.Err() == nil; {
			_ = wait.For(ctx, 500*time.Millisecond)
		}
		for _, k := range h.s.net.Keys.Keepers[:keepers] {
			if err := h.readOf(ctx, k.Address(), at); err != nil && ctx.Err() == nil {
				h.s.o.Log.Warn().Err(err).Str("keeper", k.Name).Msg("statements of a keeper cannot be read")
			}
		}
	}
	return nil
}

func (h *honest) readOf(ctx context.Context, keeper solana.PublicKey, p uint64) error {
	var err error
	for range 5 {
		var got messages.StatementsAnswer
		got, err = p2p.Call[messages.StatementsRequest, messages.StatementsAnswer](ctx, h.node, keeper, gossip.StatementsProtocol,
			messages.StatementsRequest{Version: messages.Version, Period: p})
		if err == nil {
			return h.judge(keeper, p, got.Statements)
		}
		_ = wait.For(ctx, time.Second)
	}
	return err
}

// judge counts what an honest keeper says of honest machines.
func (h *honest) judge(keeper solana.PublicKey, p uint64, all []messages.SignedStatement) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == 0 || p < h.first || h.last != 0 && p > h.last {
		return nil
	}
	h.read[p]++
	alive := map[[32]byte]bool{}
	for _, raw := range all {
		s, err := records.DecodeStatement(raw.Statement)
		if err != nil {
			return err
		}
		for _, n := range h.s.net.Nodes[:machines] {
			switch {
			case raw.Keeper != keeper || s.Node != n.Address:
			case s.Passed:
				h.checks.Passed++
				alive[s.Node] = alive[s.Node] || s.Kind == records.CheckLiveness
			default:
				h.checks.Failed = append(h.checks.Failed, fmt.Sprintf("%s of %s in period %d", s.Kind, n.Name, p))
			}
		}
	}
	h.checks.Periods += machines
	h.checks.Seen += len(alive)
	return nil
}

// result says how the honest fared.
func (h *honest) result(r *Result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.Checks, r.Jobs, r.QuietJobs, r.Newcomers, r.Copies = h.checks, *h.jobs[true], *h.jobs[false], h.came, h.copied
	for p := h.first; p <= h.last; p++ {
		r.Periods++
		if !h.final[p] {
			r.Missed = append(r.Missed, p)
		}
		if h.read[p] < keepers {
			r.Unread++
		}
	}
	for f := range h.faults {
		r.Faults = append(r.Faults, f.String())
	}
	if r.Periods == 0 {
		return errors.New("no whole period under attack; attack for longer")
	}
	return nil
}
