package audit

import (
	"slices"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Times of votes about outages, as in program/src/constants.rs.
const (
	outageSecs     = 5
	outageVoteSecs = 30
	outageMoveSecs = 60
)

// failed says why a lease has failed: a report, or keepers' votes before it.
func (a *auditor) failed(t Tx, v *bindings.LeaseFailed) {
	opened := func(f *bindings.FaultOpened) bool { return f.Fault == market.OutageFaultAddress(v.Lease) }
	if f, _, ok := find([]Tx{t}, opened); ok {
		a.endedAt = v.EndedAt
		c := a.checks()
		c.follows(ofStart|ofFunds, v.EndedAt <= a.fundedUntil && v.EndedAt >= a.startedAt, "it ended outside of its time")
		c.require(f.Lease == v.Lease && f.Period == v.Period, "its fault is about another lease or period")
		a.step(t, "failed", c, "keepers voted that its node was away: ended at %s; the votes: gantry audit slash %s", clock(v.EndedAt), f.Fault)
		return
	}
	a.step(t, "failed", checks{}, "gone too long in period %d, ended at %s", v.Period, clock(v.EndedAt))
}

// fromOutage is the first step of a fault that keepers voted about: it counts the votes again. txs are those of the
// account in which they add up.
func (s *Slash) fromOutage(params market.Params, opened Tx, v *bindings.FaultOpened, txs []Tx) {
	c := checks{gaps: s.gaps}
	c.require(s.Flags == records.FlagOffline, "an outage is about silence, and not about %s", s.Flags)
	votes, seen := votesBefore(txs, opened, v)
	if seen == nil {
		c.follows(ofAll, false, "the keepers' quorum had not seen an outage of the node when it was opened")
		seen = &bindings.OutageSeen{}
	} else {
		votes.check(&c, seen, params.QuorumBps)
	}
	ended := func(f *bindings.LeaseFailed) bool { return f.Lease == v.Lease }
	failed, _, ok := find([]Tx{opened}, ended)
	c.require(ok, "the lease did not fail in the same transaction")
	c.follows(ofAll, !ok || failed.EndedAt >= seen.LastAnswer, "the lease ended before the node's last answer")
	s.step(opened, c, "fault", "%d keepers with %s GNT of %s had not heard node %s since %s; %s GNT at stake, appeal until %s",
		len(votes), market.GNT(seen.Weight), market.GNT(seen.TotalWeight), v.Node, clock(seen.LastAnswer), s.Amount, clock(v.ApplicableAt))
}

// outageVote is a vote with the second of its transaction; 0 when the node does not know.
type outageVote struct {
	*bindings.OutageVoted
	at int64
}

type outageVotes []outageVote

// votesBefore are the votes of the last outage that was seen before a fault of the node was opened. A vote more than half
// a minute after the first of its window, or after the quorum, begins a new one.
func votesBefore(txs []Tx, opened Tx, v *bindings.FaultOpened) (votes outageVotes, seen *bindings.OutageSeen) {
	if !slices.ContainsFunc(txs, func(t Tx) bool { return t.Signature == opened.Signature }) {
		txs = append(slices.Clip(txs), opened)
	}
	for _, t := range txs {
		at := seconds(t)
		for _, e := range t.Events {
			switch e := e.Value.(type) {
			case *bindings.OutageVoted:
				if e.Node != v.Node {
					continue
				}
				if len(votes) > 0 && (seen != nil || at > votes[0].at+outageVoteSecs) {
					votes, seen = nil, nil
				}
				votes = append(votes, outageVote{e, at})
			case *bindings.OutageSeen:
				if e.Node == v.Node {
					seen = e
				}
			case *bindings.FaultOpened:
				if e.Fault != v.Fault {
					continue
				}
				if len(votes) > 0 && at > votes[len(votes)-1].at+outageMoveSecs {
					return votes, nil
				}
				return votes, seen
			}
		}
	}
	return votes, nil
}

func seconds(t Tx) int64 {
	if t.Time.IsZero() {
		return 0
	}
	return t.Time.Unix()
}

// check adds the votes up again.
func (votes outageVotes) check(c *checks, seen *bindings.OutageSeen, quorum uint16) {
	var weight uint64
	latest := int64(0)
	counted := map[[32]byte]bool{}
	for _, vote := range votes {
		c.follows(ofAll, !counted[vote.Keeper], "keeper %s was counted twice", vote.Keeper)
		counted[vote.Keeper] = true
		weight += vote.Weight
		latest = max(latest, vote.LastAnswer)
		c.require(vote.at == 0 || vote.LastAnswer+outageSecs <= vote.at, "keeper %s had heard the node %d s before", vote.Keeper, vote.at-vote.LastAnswer)
	}
	c.follows(ofAll, weight == seen.Weight, "the votes weigh %s GNT, not %s", market.GNT(weight), market.GNT(seen.Weight))
	c.follows(ofAll, latest == seen.LastAnswer, "the latest last answer is %s", clock(latest))
	c.require(market.HasQuorum(seen.Weight, seen.TotalWeight, quorum), "%s of %s GNT are not a quorum", market.GNT(seen.Weight), market.GNT(seen.TotalWeight))
}
