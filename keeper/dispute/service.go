package dispute

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Store has what this keeper has signed. *store.Store is one.
type Store interface {
	SignStatements([]records.CheckStatement) ([]store.Signed, []store.Refusal, error)
	StatementsAbout(p records.Period, node solana.PublicKey) ([]store.Signed, error)
}

// Options of a Service; all but Log are required.
type Options struct {
	Store      Store
	Complaints *Complaints
	Self       solana.PublicKey
	Domain     records.Domain
	Secs       uint32
	Publish    func([]statement.Signed) // after a statement is stored
	Log        zerolog.Logger
	Now        func() time.Time
}

// Service votes on disputes and appeals against upheld ones: a source of actions for crank.Runner, which calls it from
// one goroutine.
type Service struct {
	o        Options
	said     map[solana.PublicKey]Opinion      // last opinion, by lease: for the log
	appealed map[solana.PublicKey]store.Signed // the statement against a fault that was signed already
}

// New returns a Service. Error: options.ErrMissing.
func New(o Options) (*Service, error) {
	if err := options.Complete("dispute", o, "Log"); err != nil {
		return nil, err
	}
	return &Service{o: o, said: map[solana.PublicKey]Opinion{}, appealed: map[solana.PublicKey]store.Signed{}}, nil
}

// Due votes on each open dispute that the keeper has an opinion about, and appeals against each fault of a dispute that
// it judges otherwise. An error is of what could not be read or signed; the other actions hold all the same.
func (s *Service) Due(v *view.Accounts, now int64) ([]crank.Action, error) {
	me := v.Keepers[s.o.Self]
	if me == nil || v.Market == nil {
		return nil, nil
	}
	var out []crank.Action
	var errs error
	add := func(a crank.Action, err error) {
		errs = errors.Join(errs, err)
		if err == nil && len(a.Instructions) > 0 {
			out = append(out, a)
		}
	}
	for _, at := range inOrder(v.Disputes) {
		if d := v.Disputes[at]; d.CanVote(me, now) == nil {
			add(s.vote(v, d))
		}
	}
	for _, at := range inOrder(v.Faults) {
		f := v.Faults[at]
		if f.Kind == market.FaultDispute && f.CanAppeal(me, now) == nil {
			add(s.appeal(v, f))
		}
	}
	maps.DeleteFunc(s.appealed, func(fault solana.PublicKey, _ store.Signed) bool { return v.Faults[fault] == nil })
	maps.DeleteFunc(s.said, func(lease solana.PublicKey, _ Opinion) bool { return v.Leases[lease] == nil })
	return out, errs
}

// vote is the keeper's vote; no instruction when it abstains.
func (s *Service) vote(v *view.Accounts, d *market.Dispute) (crank.Action, error) {
	l := v.Leases[d.Lease]
	if l == nil {
		return crank.Action{}, nil
	}
	_, readable := s.o.Complaints.Get(d.Lease, d.EvidenceHash)
	j, err := s.judge(v, l, market.DisputeKind(d.Kind), d.OpenedAt, readable)
	if err != nil || j.Opinion == Abstain {
		return crank.Action{}, err
	}
	instruction, err := ix.DisputeVote(ix.DisputeVoteArgs{Keeper: s.o.Self, Signer: v.SignerOf(s.o.Self), Dispute: d.Address, Uphold: j.Opinion == Uphold})
	key := fmt.Sprintf("%s/%s/%d", crank.DisputeVote, d.Address, d.OpenedAt)
	return crank.Action{Kind: crank.DisputeVote, Key: key, Group: key, Mine: true, Instructions: []solana.Instruction{instruction}}, err
}

// appeal brings a statement about the lease's output against the fault of its dispute; no instruction unless the keeper
// rejects what the others upheld.
func (s *Service) appeal(v *view.Accounts, f *market.Fault) (crank.Action, error) {
	l := v.Leases[f.Lease]
	if l == nil {
		return crank.Action{}, nil
	}
	// The keepers that upheld it have read the complaint.
	j, err := s.judge(v, l, market.DisputeKind(f.DisputeKind), f.VotersBefore, true)
	if err != nil || j.Opinion != Reject {
		return crank.Action{}, err
	}
	signed, ok := s.appealed[f.Address]
	if !ok {
		if signed, err = s.sign(f); err != nil {
			return crank.Action{}, err
		}
		s.appealed[f.Address] = signed
	}
	both, err := ix.SlashAppeal(ix.SlashAppealArgs{
		Fault: *f, Keeper: s.o.Self, Signer: v.SignerOf(s.o.Self), Statement: signed.Statement, Signature: signed.Signature,
	})
	key := fmt.Sprintf("%s/%s/%d", crank.SlashAppeal, f.Address, f.ApplicableAt)
	return crank.Action{Kind: crank.SlashAppeal, Key: key, Group: key, Mine: true, Instructions: both}, err
}

// sign stores and signs that the lease's output is what was ordered. It is stored first, so that this keeper never says
// the opposite about the same second.
func (s *Service) sign(f *market.Fault) (store.Signed, error) {
	now := s.o.Now().Unix()
	st := records.CheckStatement{
		Domain: s.o.Domain, Node: f.Fault.Node, Period: records.Period(now / int64(s.o.Secs)), Kind: records.CheckOutput, Passed: true,
		CheckedAt: now, Lease: f.Lease,
	}
	signed, refused, err := s.o.Store.SignStatements([]records.CheckStatement{st})
	switch {
	case err != nil:
		return store.Signed{}, fmt.Errorf("statement about the output of lease %s: %w", f.Lease, err)
	case len(refused) > 0:
		return store.Signed{}, fmt.Errorf("statement about the output of lease %s: %w", f.Lease, refused[0].Err)
	}
	s.o.Publish([]statement.Signed{{Keeper: s.o.Self, Statement: signed[0].Statement, Signature: signed[0].Signature}})
	return signed[0], nil
}

// judge gathers what the keeper knows of the lease up to the second at which it was disputed, and says what it thinks.
func (s *Service) judge(v *view.Accounts, l *market.Lease, kind market.DisputeKind, disputedAt int64, readable bool) (Judgement, error) {
	f := Facts{Kind: kind, Paid: int64(l.PaidSecs), Grace: int64(v.Market.Params.MigrationGraceSecs), Readable: readable}
	end := disputedAt
	if l.EndedAt != 0 {
		end = min(end, l.EndedAt)
	}
	f.Elapsed = max(0, end-l.StartedAt)
	f.Output = market.OutputState(l.Output)
	for at := range v.LeasesOfOrder[l.Order] {
		switch o := v.Leases[at]; {
		case o == nil || at == l.Address:
		case market.OutputState(o.Output) == market.OutputAccepted:
			f.Agreeing++
		default:
			f.Dissenting++
		}
	}
	if kind == market.DisputeNotDelivered {
		var err error
		if f.Up, f.Down, err = s.seen(l, end); err != nil {
			return Judgement{}, err
		}
	}
	j := Judge(f)
	if last, said := s.said[l.Address]; !said || last != j.Opinion {
		s.said[l.Address] = j.Opinion
		s.o.Log.Info().Stringer("lease", l.Address).Stringer("kind", kind).Stringer("opinion", j.Opinion).Str("why", j.Why).
			Msg("keeper judges a dispute")
	}
	return j, nil
}

// mostPeriods bounds how far back a keeper looks for its own statements.
const mostPeriods = 2_000

// seen adds up the seconds before end for which this keeper has signed that the lease was served, and that it was not.
func (s *Service) seen(l *market.Lease, end int64) (up, down int64, err error) {
	if end <= l.StartedAt {
		return 0, 0, nil
	}
	last := (end - 1) / int64(s.o.Secs)
	for p := max(l.StartedAt/int64(s.o.Secs), last-mostPeriods); p <= last; p++ {
		all, err := s.o.Store.StatementsAbout(records.Period(p), l.Lease.Node)
		if err != nil {
			return 0, 0, fmt.Errorf("own statements of period %d: %w", p, err)
		}
		for _, x := range all {
			st := x.Statement
			if st.Kind != records.CheckLiveness || st.Lease != l.Address {
				continue
			}
			// It speaks for the seconds before it; those after the dispute are not asked for.
			covered := max(0, int64(st.CoveredSeconds)-max(0, st.CheckedAt-end))
			if st.Passed {
				up += covered
			} else {
				down += covered
			}
		}
	}
	return up, down, nil
}

// inOrder lists a map's keys in one order.
func inOrder[T any](m map[solana.PublicKey]T) []solana.PublicKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
}
