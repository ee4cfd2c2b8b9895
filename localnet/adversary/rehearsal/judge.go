package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// reports is which periods had a final report; their accounts close long before the rehearsal is over.
type reports struct {
	mu    sync.Mutex
	final map[uint64]bool
	first uint64
}

func (r *rehearsal) followReports(ctx context.Context) error {
	for {
		changed := r.view.Changed()
		r.reports.note(r.view.Reports())
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *reports) note(all []market.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final == nil {
		s.final = map[uint64]bool{}
	}
	for _, report := range all {
		if report.State() != market.ReportFinal {
			continue
		}
		s.final[report.Period] = true
		if s.first == 0 || report.Period < s.first {
			s.first = report.Period
		}
	}
}

// missing are the periods without a final report, from the first with one up to one that is over.
func (s *reports) missing(last uint64) (out []uint64, seen int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := s.first; p <= last; p++ {
		if !s.final[p] {
			out = append(out, p)
		}
	}
	return out, len(s.final)
}

func (s *reports) has(p uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final[p]
}

// judge ends what runs, and looks at the whole.
func (r *rehearsal) judge(ctx context.Context) error {
	if err := r.lives(ctx); err != nil {
		return err
	}
	if err := r.stopped(ctx, r.net.Keys.Customers[0]); err != nil {
		return err
	}
	last := r.period()
	if err := poll(ctx, fmt.Sprintf("the report of period %d is final", last), func() (bool, error) { return r.reports.has(last), nil }); err != nil {
		return err
	}
	wrong := r.load.failed
	missing, seen := r.reports.missing(last)
	if len(missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("no final report of %d of %d periods: %v", len(missing), len(missing)+seen, missing))
	}
	wrong = append(wrong, r.touched()...)
	if out, err := r.net.Gantry(ctx, r.net.Keys.Customers[0], "audit", r.long.Address.String()); err != nil || out.Code != 0 {
		wrong = append(wrong, fmt.Sprintf("the audit of the long lease: %v %s", err, out.Stderr))
	}
	state, err := invariants.Take(ctx, r.net.Chain, r.net.Mints())
	if err != nil {
		return err
	}
	for _, v := range invariants.NewChecker().Check(state) {
		wrong = append(wrong, v.String())
	}
	if len(wrong) > 0 {
		for _, w := range wrong {
			fmt.Fprintln(r.o.Out, "  ✗", w)
		}
		return fmt.Errorf("%d things are wrong", len(wrong))
	}
	fmt.Fprintf(r.o.Out, "      %d periods with a final report each, %d short leases to their end, one lease through all of it, %d bonds whole\n",
		seen, r.load.finished(), keepers)
	return nil
}

// touched names bonds that are not whole, leases that failed and faults that were opened: a keeper that signed twice would have
// lost its bond by the proof of another.
func (r *rehearsal) touched() (wrong []string) {
	v := r.view
	for _, w := range r.net.Keys.Keepers {
		k, ok := v.Keeper(market.KeeperAddress(w.Address()))
		if !ok || k.State() != market.KeeperActive || k.Bond < seed.Bond {
			wrong = append(wrong, fmt.Sprintf("%s has state %v and a bond of %d, not %d", w.Name, k.State(), k.Bond, uint64(seed.Bond)))
		}
	}
	for _, m := range r.net.Nodes {
		n, ok := v.Node(m.Address)
		if !ok || n.JobsFailed > 0 || n.Convictions > 0 {
			wrong = append(wrong, fmt.Sprintf("%s has %d failed leases and %d faults", m.Name, n.JobsFailed, n.Convictions))
		}
	}
	for _, f := range v.Faults() {
		wrong = append(wrong, fmt.Sprintf("fault %s was opened", short(f.Address)))
	}
	return wrong
}

// bundles reads how many bundles a command says that it copied.
func bundles(out []byte) (int, error) {
	var done struct {
		Bundles int `json:"bundles"`
		Damaged int `json:"damaged"`
	}
	if err := json.Unmarshal(out, &done); err != nil {
		return 0, err
	}
	if done.Damaged > 0 {
		return 0, fmt.Errorf("%d bundles are damaged", done.Damaged)
	}
	return done.Bundles, nil
}
