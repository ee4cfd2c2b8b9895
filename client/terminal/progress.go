package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/market"
)

// The steps of a purchase, in their order.
const (
	reserved = iota
	auction
	awarded
	proof
	measured
	brought // the job is: its image is fetched
	running
	serving // its program answers, a while after it runs
	stepCount
)

// step is one of them, and whether the order has it.
type step struct {
	screen.Step
	shown bool
}

// state is how far a purchase is.
type state struct {
	steps          [stepCount]step
	last           time.Time // when the last step was over
	sealed         bool
	image          string // what the job is; empty where that is not known, or there is none
	nodes          int    // of the order; 0 where that is not known
	order          solana.PublicKey
	leases         []solana.PublicKey // that are awarded, and not left
	perHour        market.PricePerHour
	released       market.USDC
	measures, runs int
	tops, typical  float64 // of the weakest machine
	hint           string  // what Ctrl-C does
	images         map[solana.PublicKey]service.Image
}

// plan takes what is known before the order.
func (s *state) plan(r *buy.Request) {
	s.sealed, s.image, s.nodes = r.Sealed, printable.Text(r.Image), max(1, int(r.Nodes), int(r.Redundancy))
	if h := r.Health; h != nil && !r.Detach {
		s.steps[serving] = step{screen.Step{Endless: true, Details: []string{fmt.Sprintf("when port %d answers %s", h.Port, printable.Text(h.Path))}}, true}
	}
	s.steps[auction].shown, s.steps[proof].shown, s.steps[measured].shown = r.Sealed, r.Attest != "", r.Verify == buy.Always
}

// begin shows what every purchase has.
func (s *state) begin(now time.Time) {
	if s.last.IsZero() {
		s.last = now
	}
	for _, k := range []int{reserved, awarded, brought, running} {
		s.steps[k].shown = true
	}
	if x := &s.steps[running]; x.Mark == screen.Waiting {
		x.Endless, x.Details = true, []string{"billing begins here"}
	}
}

// goOn says that a step has begun and is not over.
func (s *state) goOn(k int, now time.Time, details ...string) {
	x := &s.steps[k]
	if x.Mark == screen.Done {
		return
	}
	if x.Mark == screen.Waiting {
		x.From = now
	}
	x.shown, x.Mark = true, screen.Current
	if len(details) > 0 {
		x.Details = details
	}
}

// end says that a step is over.
func (s *state) end(k int, is screen.Mark, now time.Time, details ...string) {
	x := &s.steps[k]
	if x.From.IsZero() {
		x.From = s.last
	}
	x.shown, x.Mark, x.To, x.Details = true, is, now, details
	s.last = now
}

// stop says that the current steps are over: they have failed, or the person has left them.
func (s *state) stop(err error, now time.Time) {
	is := screen.Failed
	if service.Classify(err).Code == service.CodeInterrupted {
		is = screen.Note
	}
	for k := range s.steps {
		if x := &s.steps[k]; x.Mark == screen.Current {
			x.Mark, x.To = is, now
		}
	}
}

// final reports whether all leases run.
func (s *state) final() bool { return s.runs > 0 && s.runs >= max(s.nodes, len(s.leases)) }

// render is the block's lines.
func (s *state) render(t screen.Terminal, frame int, now time.Time) []string {
	names := [stepCount]string{"Reserved", "Auction", "Awarded", "Proof", "Measured", "Image", "Running", "Serving"}
	if s.image == "" {
		names[brought] = "Job"
	}
	var out []screen.Step
	for k, x := range s.steps {
		if !x.shown {
			continue
		}
		x.Name = names[k]
		if !strings.Contains(x.Note, " ") {
			x.Note = t.Short(x.Note)
		}
		out = append(out, x.Step)
	}
	return t.Steps(out, s.hint, frame, now)
}

// single reports whether the order is known to be over one machine.
func (s *state) single() bool { return s.nodes == 1 }

// wait takes what is waited for.
func (s *state) wait(w buy.Wait, now time.Time) {
	if !w.Order.IsZero() {
		s.order = w.Order
	}
	s.hint = s.hintOf(w)
	switch w.For {
	case buy.WaitConfirmed:
		s.goOn(reserved, now, "the chain confirms the order")
	case buy.WaitAward:
		s.goOn(awarded, now, "a keeper looks for the best machine")
	case buy.WaitCommits:
		s.goOn(auction, now)
	case buy.WaitReveals:
		s.goOn(auction, now, "closed; machines reveal their bids")
	case buy.WaitProof:
		s.goOn(proof, now, "the machine proves itself")
	case buy.WaitStart:
		s.goOn(brought, now, s.bringing()...)
	case buy.WaitMove, buy.WaitEnd, buy.WaitOutputs, buy.WaitSuspended, buy.WaitSnapshot:
	}
}

func (s *state) bringing() []string {
	if s.image == "" {
		return []string{"the machine takes the job and starts"}
	}
	return []string{"the machine fetches " + s.image, "fetches " + s.image}
}

// hintOf says what Ctrl-C does with the money.
func (s *state) hintOf(w buy.Wait) string {
	order, lease := screen.Beginning(s.order.String()), "LEASE"
	if len(s.leases) == 1 {
		lease = screen.Beginning(s.leases[0].String())
	}
	switch w.For {
	case buy.WaitAward:
		return "Ctrl-C leaves the order; all money back: gantry order cancel " + order
	case buy.WaitCommits, buy.WaitReveals:
		return "Ctrl-C leaves the order; money back until the close: gantry order cancel " + order
	case buy.WaitProof, buy.WaitStart:
		return "Ctrl-C leaves the lease; it is billed once it runs. End it: gantry stop " + lease
	case buy.WaitConfirmed, buy.WaitMove, buy.WaitEnd, buy.WaitOutputs, buy.WaitSuspended, buy.WaitSnapshot:
	}
	_, out := WaitText(w)
	return out
}

// take takes an event; shown is false for what the steps do not show, or not all of it.
func (s *state) take(e buy.Event, now time.Time) (shown bool) {
	switch e := e.(type) {
	case buy.Placed:
		s.end(reserved, screen.Done, now, screen.Dollars(e.Reserved))
		s.order, s.steps[reserved].Note = e.Order, e.Order.String()
		s.goOn(s.afterOrder(), now)
		return true
	case buy.Resumed:
		s.order = e.Order
		s.end(reserved, screen.Done, now, "by an earlier command, "+service.When(e.Created.Unix())+" UTC")
		s.steps[reserved].Note = e.Order.String()
	case buy.AuctionOpened:
		until, reveals := clock(e.CloseAt), clock(e.RevealUntil)
		s.goOn(auction, now, fmt.Sprintf("sealed bids until %s, revealed until %s UTC", until, reveals), "bids until "+until+" UTC")
		return true
	case buy.AuctionClosed:
		s.goOn(auction, now, "closed; machines reveal their bids")
		return true
	case buy.AuctionRevealed:
		s.end(auction, screen.Done, now, "bids are in")
		s.goOn(awarded, now)
		return true
	case buy.Awarded:
		return s.award(e, now)
	case buy.Fetching:
		s.fetch(e, now)
		return e.Image.Phase != service.ImageFailed // why stands above the steps
	case buy.Running:
		return s.run(e, now)
	default:
		return s.machine(e, now)
	}
	return false
}

// afterOrder is the step that comes after the order's.
func (s *state) afterOrder() int {
	if s.sealed {
		return auction
	}
	return awarded
}

// clock is a time of today.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format("15:04:05") }

// award takes a lease.
func (s *state) award(e buy.Awarded, now time.Time) (shown bool) {
	l := e.Lease
	s.leases = append(s.leases, l.Address)
	s.perHour += market.PricePerHour(l.Price * uint64(l.Gpus))
	s.released += e.Released
	price := screen.Dollars(market.USDC(s.perHour)) + " /h"
	if n := len(s.leases); n > 1 {
		what := fmt.Sprintf("%d machines, %s", n, price)
		s.end(awarded, screen.Done, now, what+"; "+screen.Dollars(s.released)+" is free again", what)
		s.steps[awarded].Note = ""
	} else {
		what := fmt.Sprintf("%d × %s, %s", l.Gpus, printable.Text(e.Model), price)
		where := fmt.Sprintf("%d × %s in %s, %s", l.Gpus, printable.Text(e.Model), printable.Text(e.Region), price)
		s.end(awarded, screen.Done, now, where+"; "+screen.Dollars(e.Released)+" is free again", where, what)
		s.steps[awarded].Note = l.Address.String()
	}
	return s.single()
}

// run takes a lease that runs.
func (s *state) run(e buy.Running, now time.Time) (shown bool) {
	s.runs++
	if !s.final() {
		s.goOn(brought, now, fmt.Sprintf("%d of %d machines run", s.runs, max(s.nodes, len(s.leases))))
		return false
	}
	s.end(brought, screen.Done, now, "the machine runs it")
	if all := s.allImages(); s.image != "" && all.Total > 0 {
		s.steps[brought].Details = []string{s.image + ", " + size(&all), s.image}
	} else if s.image != "" {
		s.steps[brought].Details = []string{s.image}
	}
	s.end(running, screen.Done, now, fmt.Sprintf("%s after the order; billing has begun", screen.Took(e.After)), "billing has begun")
	return s.single() && len(e.Ports) == 0
}

// machine takes what is found of a machine.
func (s *state) machine(e buy.Event, now time.Time) (shown bool) {
	switch e := e.(type) {
	case buy.Attested:
		if e.Attestation.State != service.AttestationPassed {
			s.end(proof, screen.Failed, now, "refused: nothing of the job is sent")
			return false
		}
		s.end(proof, screen.Done, now, fmt.Sprintf("policy %q", printable.Text(e.Attestation.Policy)))
	case buy.Measured:
		s.measures++
		if s.measures == 1 || e.Figures.Operations < s.tops {
			s.tops, s.typical = e.Figures.Operations, e.Typical
		}
		what := screen.Figure(s.tops/1e12) + " TOPS"
		if s.measures > 1 {
			what = fmt.Sprintf("%d, the slowest %s", s.measures, what)
		}
		s.end(measured, screen.Done, now, what)
		if s.typical > 0 {
			s.steps[measured].Share = s.tops / s.typical
		}
		s.steps[measured].Note = "not billed"
		return s.single()
	case buy.Failed:
		s.end(measured, screen.Failed, now, printable.Text(e.Why.Error()))
	case buy.NeverStarted:
		s.left(e.Lease.Address)
	case buy.Left:
		s.left(e.Lease.Address)
	case buy.LeaseOver:
		s.left(e.Lease.Address)
	case buy.Declined:
		s.again()
	}
	return false
}

// has reports whether a lease is one of those that are not left.
func (s *state) has(lease solana.PublicKey) bool { return slices.Contains(s.leases, lease) }

// left forgets a lease that is over before it ran.
func (s *state) left(lease solana.PublicKey) {
	s.leases = slices.DeleteFunc(s.leases, func(l solana.PublicKey) bool { return l == lease })
}

// again takes the steps back to the award: another machine is looked for.
func (s *state) again() {
	s.leases, s.images, s.perHour, s.released, s.measures, s.hint = nil, nil, 0, 0, 0, ""
	for k := awarded; k < serving; k++ {
		s.steps[k] = step{shown: s.steps[k].shown && k != measured}
	}
	s.begin(s.last)
}
