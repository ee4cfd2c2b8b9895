package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Reasons why an order waits or is over, and how a lease is or has ended.
const (
	WhyOpen       = "open"              // enough machines fit: keepers award it
	WhyNoMachine  = "no-machine-fits"   // too few machines fit now
	WhyPaused     = "awards-paused"     // nothing is awarded now
	WhyAwarded    = "awarded"           // machines have it, and start
	WhyExpired    = "expired"           // nobody got it in time
	WhyCancelled  = "cancelled"         // its customer took it back
	WhyUnserved   = "not-served"        // its machines declined, or did not start
	WhyRunning    = "running"           //
	WhyStopped    = "stopped"           // its customer ended it
	WhyGivenUp    = "ended-by-provider" //
	WhyFunds      = "funds-used-up"     // its paid time is over
	WhyFailed     = "machine-failed"    //
	WhyMoved      = "moved"             // its machine failed, and another one continues
	WhyJobDone    = "job-done"          //
	WhyDeclined   = "declined"          // its machine said so before it started
	WhyNotStarted = "not-started"       // its machine did not start in time
	WhyIncomplete = "group-incomplete"  // too few machines of its group ran; only the buyer knows
)

// Why explains an order or a lease.
type Why struct {
	Address string `json:"address"`
	Kind    string `json:"kind" enum:"order,lease"`
	Reason  string `json:"reason" enum:"open,no-machine-fits,awards-paused,awarded,expired,cancelled,not-served,running,stopped,ended-by-provider,funds-used-up,machine-failed,moved,job-done,declined,not-started,group-incomplete"`
	Says    string `json:"says" doc:"The reason in words"`
	Advice  string `json:"advice,omitempty" doc:"What to do"`
	// Fit counts the machines that fit an open order now, and Unfit the others by what keeps them from it.
	Fit      int            `json:"fit,omitempty" doc:"Machines that fit an open order now"`
	Unfit    map[string]int `json:"unfit,omitempty" doc:"Machines that do not, by the reason"`
	Leases   []string       `json:"leases,omitempty" doc:"Of an order, also those that are over; of a lease, the one that continues it"`
	Unserved []Unserved     `json:"unserved,omitempty" doc:"Machines that had the order and did not serve it"`
	// Attestation is of a lease's machine, where who answers has bought the lease and asked for one.
	Attestation *Attestation `json:"attestation,omitempty" doc:"What the machine of a lease has proved before it got the job, where the order asked for that"`
}

// Unserved is a machine that had an order and did not serve it.
type Unserved struct {
	Node  string `json:"node,omitempty" doc:"Absent of one that did not start: the history of the lease names it"`
	Lease string `json:"lease"`
	Why   string `json:"why"`
}

// Why explains an order or a lease of anybody, also one that is closed. Error: Failure, for an address that was neither.
func (s *Service) Why(ctx context.Context, address solana.PublicKey) (Why, error) {
	mk, err := s.Load(ctx)
	if err != nil {
		return Why{}, err
	}
	history, err := audit.Read(ctx, s.history, address, s.client.WaitLevel())
	if err == nil {
		err = audit.Unread(history)
	}
	if errors.Is(err, chain.ErrUnreadable) {
		return Why{}, Unknown(err.Error(), err)
	}
	if err != nil {
		return Why{}, err
	}
	w := why(address, history)
	if w.Reason == "" {
		return Why{}, Refused(fmt.Sprintf("%s is and was neither an order nor a lease, as far as this node remembers", address), "check the address; an archive node remembers everything: --url")
	}
	if w.Reason != WhyOpen {
		return w, nil
	}
	order, open, err := query.Find[market.Order](ctx, s.client, address, s.client.Commitment())
	if err == nil && open && order.State() == market.OrderOpen {
		err = s.whyOpen(ctx, &w, mk, &order)
	}
	return w, err
}

// whyOpen compares an open order with all machines.
func (s *Service) whyOpen(ctx context.Context, w *Why, mk market.Market, o *market.Order) error {
	v, now, err := s.SnapshotNow(ctx, view.Only(view.Kinds(market.KindNode, market.KindModel, market.KindProvider)))
	if err != nil {
		return err
	}
	w.Unfit = map[string]int{}
	suits := market.Awardable
	if o.Mode == market.ModeSealed { // nodes bid prices of their own
		suits = market.Biddable
	}
	paused := mk.Paused&market.PauseAwards != 0
	mk.Paused = 0 // that is not the machine's fault
	for _, n := range v.Nodes() {
		p, _ := v.Provider(n.Provider)
		m, _ := v.Model(n.Spec.Model)
		if err := suits(&mk, o, &n, &p, &m, now); err != nil {
			w.Unfit[Unsuitable(err)]++
			continue
		}
		w.Fit++
	}
	left := Span(o.OpenUntil() - now)
	switch wanted := int(o.NodesWanted - o.NodesAwarded); {
	case now > o.OpenUntil():
		w.Reason, w.Says, w.Advice, w.Unfit = WhyExpired, "nobody got it before its deadline", "its money comes back when anyone expires it, or with: gantry order cancel "+w.Address, nil
	case paused:
		w.Reason, w.Says, w.Advice = WhyPaused, "awards are paused in the whole market", "wait, or take the order back: gantry order cancel "+w.Address
	case w.Fit < wanted:
		w.Reason = WhyNoMachine
		w.Says = fmt.Sprintf("%s needed, %d fit now%s; it waits %s more", Plural(wanted, "machine"), w.Fit, Unfit(w.Unfit), left)
		w.Advice = "wait, or take it back with gantry order cancel " + w.Address + " and ask for less: gantry search"
	default:
		w.Reason, w.Says = WhyOpen, fmt.Sprintf("%s needed, %d fit now; keepers award it within %s", Plural(wanted, "machine"), w.Fit, left)
	}
	return nil
}

// why is what a history says of an address: its last event decides.
func why(address solana.PublicKey, history []audit.Tx) Why {
	w := Why{Address: address.String()}
	is := func(kind, reason, says, advice string) {
		w.Kind, w.Reason, w.Says, w.Advice = kind, reason, says, advice
	}
	for i := range history {
		for _, e := range history[i].Events {
			orderEvent(&w, address, e.Value, is)
			leaseEvent(&w, address, e.Value, is)
		}
	}
	return w
}

const anew = "what is not paid is free again; order anew with: gantry deploy"

func orderEvent(w *Why, order solana.PublicKey, event any, is func(kind, reason, says, advice string)) {
	unserved := func(lease, node solana.PublicKey, why string) {
		at := ""
		if !node.IsZero() {
			at = node.String()
		}
		w.Unserved = append(w.Unserved, Unserved{at, lease.String(), why})
		is("order", WhyUnserved, "a machine had it and did not serve it: "+why, "look for another one: gantry order reopen "+order.String())
	}
	switch v := event.(type) {
	case *bindings.OrderCreated:
		if v.Order == order {
			is("order", WhyOpen, "it waits for its award", "")
		}
	case *bindings.OrderReopened:
		if v.Order == order {
			is("order", WhyOpen, "it waits for its award again", "")
		}
	case *bindings.LeaseAwarded:
		if v.Order == order {
			if !slices.Contains(w.Leases, v.Lease.String()) {
				w.Leases = append(w.Leases, v.Lease.String())
			}
			is("order", WhyAwarded, "keepers have awarded it", "see: gantry why "+v.Lease.String())
		}
	case *bindings.LeaseMigrated:
		if v.Order == order {
			w.Leases = append(w.Leases, v.To.String())
		}
	case *bindings.LeaseDeclined:
		if v.Order == order {
			unserved(v.Lease, v.Node, market.DeclineReason(v.Reason).String())
		}
	case *bindings.LeaseAborted:
		if w.Kind == "order" && slices.Contains(w.Leases, v.Lease.String()) {
			unserved(v.Lease, solana.PublicKey{}, "it did not start in time")
		}
	case *bindings.OrderExpired:
		if v.Order == order {
			is("order", WhyExpired, "nobody got it before its deadline", anew)
		}
	case *bindings.OrderCancelled:
		if v.Order == order {
			is("order", WhyCancelled, "its customer took it back", "")
		}
	}
}

func leaseEvent(w *Why, lease solana.PublicKey, event any, is func(kind, reason, says, advice string)) {
	switch v := event.(type) {
	case *bindings.LeaseAwarded:
		if v.Lease == lease {
			is("lease", WhyAwarded, "its machine has not started it yet", "")
		}
	case *bindings.LeaseStarted:
		if v.Lease == lease {
			is("lease", WhyRunning, "it runs", "its output: gantry logs "+w.Address)
		}
	case *bindings.LeaseFailed:
		if v.Lease == lease {
			is("lease", WhyFailed, "keepers found that its machine does not answer", anew)
		}
	case *bindings.LeaseMigrated:
		switch lease {
		case v.From:
			w.Leases = []string{v.To.String()}
			is("lease", WhyMoved, "its machine failed; another one continues with lease "+v.To.String(), "see: gantry why "+v.To.String())
		case v.To:
			is("lease", WhyAwarded, "it continues lease "+v.From.String()+", and its machine has not started it yet", "")
		}
	case *bindings.LeaseDeclined:
		if v.Lease == lease {
			is("lease", WhyDeclined, "its machine declined it before it started: "+market.DeclineReason(v.Reason).String(), anew)
		}
	case *bindings.LeaseAborted:
		if v.Lease == lease {
			is("lease", WhyNotStarted, "its machine did not start it in time", anew)
		}
	case *bindings.LeaseEnded:
		if v.Lease == lease && w.Reason != WhyMoved {
			reason, says := ended(market.EndReason(v.Reason))
			is("lease", reason, says, "what happened to its money: gantry audit "+w.Address)
		}
	}
}

func ended(r market.EndReason) (reason, says string) {
	switch r {
	case market.EndedByCustomer:
		return WhyStopped, "its customer ended it"
	case market.EndedByProvider:
		return WhyGivenUp, "its provider ended it"
	case market.EndedUnfunded:
		return WhyFunds, "its paid time is over"
	case market.EndedFailed:
		return WhyFailed, "keepers found that its machine does not answer"
	}
	return WhyJobDone, "its job is done"
}
