package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// clockLag is by how many seconds a transaction's block may be later than what the program took for now. Under Alpenglow a
// block has the time of its end, and the program reads that of the block before: twice what the slots between them last, of
// which whole leaders' shares may be skipped.
const clockLag = 60

// disputeAndOutput is what an auditor knows of a lease's dispute and, for a redundant job, of its output.
type disputeAndOutput struct {
	disputeOpen      bool // a dispute is open
	disputes         int
	deposit          uint64
	closesAt         int64
	upheld, rejected uint64 // weight of the votes seen
	voted            map[solana.PublicKey]bool

	outputState      market.OutputState // as far as events tell it; none until the node commits
	outputCommitment [32]byte
	revealed         [32]byte
}

// disputeHistory reads the dispute of a lease in this life of it; nothing when it was not disputed.
func disputeHistory(ctx context.Context, o Options, own []Tx, lease solana.PublicKey) ([]Tx, error) {
	at := slices.IndexFunc(own, func(t Tx) bool {
		_, _, opened := find([]Tx{t}, func(e *bindings.DisputeOpened) bool { return e.Lease == lease })
		return opened || t.unreadCall(lease, bindings.Instruction_DisputeOpen)
	})
	if at < 0 {
		return nil, nil
	}
	txs, err := Read(ctx, o.Source, market.DisputeAddress(lease), o.Commitment)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(txs, func(t Tx) bool { return t.Slot < own[at].Slot }), nil
}

// mergeDispute puts the transactions of a dispute between those of its lease, which has some of them too: each before
// the one that follows it in the dispute's own history, so that a vote and the verdict keep their order within a slot.
func mergeDispute(own, dispute []Tx) []Tx {
	place := map[solana.Signature]int{}
	for i, t := range dispute {
		place[t.Signature] = i
	}
	shared := map[solana.Signature]bool{}
	for _, t := range own {
		shared[t.Signature] = true
	}
	out := make([]Tx, 0, len(own)+len(dispute))
	next := 0
	until := func(end int) {
		for ; next < end; next++ {
			if !shared[dispute[next].Signature] {
				out = append(out, dispute[next])
			}
		}
	}
	for _, t := range own {
		if i, ok := place[t.Signature]; ok {
			until(i)
		}
		out = append(out, t)
	}
	until(len(dispute))
	return out
}

// disputed checks the steps of a dispute.
func (a *auditor) disputed(t Tx, e market.Event) {
	at := market.DisputeAddress(a.lease.Address)
	c := a.checks()
	switch v := e.Value.(type) {
	case *bindings.DisputeOpened:
		if v.Lease != a.lease.Address {
			return
		}
		a.disputes++
		c.require(v.Dispute == at, "the address is not that of the lease's dispute")
		c.require(a.disputes == 1, "a lease can be disputed once")
		c.follows(ofStart, a.startedAt != 0, "the lease had not started")
		c.require(v.Kind == uint8(market.DisputeNotDelivered) || v.Kind == uint8(market.DisputeBadOutput), "kind %d is not known", v.Kind)
		a.disputeOpen, a.deposit, a.closesAt = true, v.Deposit, v.ClosesAt
		a.voted = map[solana.PublicKey]bool{}
		a.step(t, "dispute", c, "by the customer: %s; deposit %s, complaint with sha256 %x, votes until %s", market.DisputeKind(v.Kind),
			dollars(v.Deposit), v.EvidenceHash, clock(v.ClosesAt))
	case *bindings.DisputeVoted:
		if v.Dispute != at {
			return
		}
		c.follows(ofDispute, a.disputeOpen, "no dispute was open")
		c.require(!a.voted[v.Keeper], "the keeper had voted before")
		c.follows(ofDispute, t.Time.IsZero() || t.Time.Unix()-clockLag <= a.closesAt, "the vote came too late")
		if a.voted != nil {
			a.voted[v.Keeper] = true
		}
		side := "rejects"
		if v.Uphold == 1 {
			side = "upholds"
			a.upheld += v.Weight
		} else {
			a.rejected += v.Weight
		}
		a.step(t, "vote", c, "keeper %s %s the dispute with %s GNT", v.Keeper, side, market.GNT(v.Weight))
	case *bindings.DisputeResolved:
		if v.Lease == a.lease.Address {
			a.disputeResolved(t, v)
		}
	}
}

func (a *auditor) disputeResolved(t Tx, v *bindings.DisputeResolved) {
	c := a.checks()
	c.follows(ofDispute, a.disputeOpen, "no dispute was open")
	c.follows(ofDispute, v.UpheldWeight == a.upheld && v.RejectedWeight == a.rejected, "votes of %s for and %s GNT against were seen, not %s and %s",
		market.GNT(a.upheld), market.GNT(a.rejected), market.GNT(v.UpheldWeight), market.GNT(v.RejectedWeight))
	outcome := ""
	lost := v.ToProvider + v.ToBuyBack
	switch {
	case v.Upheld == 1:
		outcome = "upheld: the deposit is free again, and a fault is opened"
		c.require(v.UpheldWeight > 0, "nobody had voted for the customer")
		c.require(lost == 0, "the deposit was lost although the customer won")
	case a.gaps&ofDispute != 0:
		c.open = true
		outcome = fmt.Sprintf("not upheld: of the deposit %s USDC are lost, %s of it to the provider", market.USDC(lost), market.USDC(v.ToProvider))
	case lost > a.deposit/4:
		outcome = fmt.Sprintf("rejected: the deposit of %s USDC is lost, %s of it to the provider", market.USDC(lost), market.USDC(v.ToProvider))
		c.follows(ofDispute, lost == a.deposit, "the deposit was %s USDC", market.USDC(a.deposit))
		c.follows(ofDispute, v.ToProvider == a.deposit/2 || v.ToProvider == 0, "the provider has a half of the deposit, not %s USDC", market.USDC(v.ToProvider))
		c.follows(ofDispute, v.RejectedWeight > v.UpheldWeight, "it was not rejected by more weight than upheld it")
	default:
		outcome = fmt.Sprintf("not decided in time: of the deposit of %s USDC %s are lost", market.USDC(a.deposit), market.USDC(lost))
		c.follows(ofDispute, lost == a.deposit/4, "an undecided dispute costs a quarter of the deposit")
		c.follows(ofDispute, t.Time.IsZero() || t.Time.Unix() >= a.closesAt, "it was closed undecided before its time")
	}
	a.disputeOpen = false
	a.step(t, "verdict", c, "%s; %s GNT for the customer, %s against", outcome, market.GNT(v.UpheldWeight), market.GNT(v.RejectedWeight))
}

// payable is false between a redundant job's commitment and its acceptance, and for ever when its output lost.
func (a *auditor) payable() bool {
	return a.outputState == market.OutputNone || a.outputState == market.OutputAccepted
}

// output checks the steps of a redundant job's output.
func (a *auditor) output(t Tx, e market.Event) {
	c := a.checks()
	switch v := e.Value.(type) {
	case *bindings.OutputCommitted:
		if v.Lease != a.lease.Address {
			return
		}
		c.follows(ofOutput, a.outputState == market.OutputNone, "the output was %s already", a.outputState)
		c.require(len(a.settled) == 0, "the lease was paid before its output was compared")
		a.outputState, a.outputCommitment = market.OutputCommitted, v.Commitment
		a.step(t, "output", c, "%s: the node has bound itself to an output that nobody can copy yet (%x)", a.outputState, v.Commitment)
	case *bindings.OutputRevealed:
		if v.Lease != a.lease.Address {
			return
		}
		c.follows(ofOutput, a.outputState == market.OutputCommitted, "the output was %s, not committed", a.outputState)
		salt, ok := saltOf(t, v.Output)
		c.require(ok, "the transaction does not show the output")
		c.follows(ofOutput, !ok || market.OutputCommitment(a.o.Domain, v.Lease, v.Output, salt) == a.outputCommitment, "this is not what the node had committed to")
		a.outputState, a.revealed = market.OutputRevealed, v.Output
		a.step(t, "output", c, "%s: sha256 %x, which is what was committed to", a.outputState, v.Output)
	case *bindings.OutputsResolved:
		if v.Order == a.lease.Order {
			a.compared(t, v)
		}
	case *bindings.OutputForfeited:
		if v.Lease == a.lease.Address {
			c := a.checks()
			c.follows(ofOutput, a.outputState == market.OutputWithheld, "the output was %s, not withheld", a.outputState)
			a.outputState = market.OutputRejected
			a.step(t, "output", c, "the node forfeits %s GNT of its stake for an output that it committed to and did not reveal; all of it is burned", market.GNT(v.Amount))
		}
	}
}

func (a *auditor) compared(t Tx, v *bindings.OutputsResolved) {
	c := a.checks()
	wins := a.outputState == market.OutputRevealed && v.Accepted > 0 && v.Output == a.revealed
	c.require(v.Accepted == 0 || 2*int(v.Accepted) > int(v.Of), "%d of %d are not a majority", v.Accepted, v.Of)
	if a.gaps&ofOutput != 0 {
		c.open = true
		a.step(t, "output", c, "%d of %d nodes have shown the same; what this node has shown could not be read", v.Accepted, v.Of)
		return
	}
	c.follows(ofOutput, a.outputState <= market.OutputRevealed, "the output was %s already", a.outputState)
	before := a.outputState
	text := ""
	switch {
	case wins:
		a.outputState = market.OutputAccepted
		text = fmt.Sprintf("%d of %d nodes have shown the same, this one too: it is paid", v.Accepted, v.Of)
	case before == market.OutputCommitted:
		a.outputState = market.OutputWithheld
		text = fmt.Sprintf("the node did not show the output that it had committed to, %d of %d agreed: it is never paid and forfeits stake", v.Accepted, v.Of)
	case v.Accepted == 0:
		a.outputState = market.OutputRejected
		text = fmt.Sprintf("no majority of the %d nodes has shown the same: none is paid", v.Of)
	case before == market.OutputRevealed:
		a.outputState = market.OutputRejected
		text = fmt.Sprintf("%d of %d nodes have shown another output: this one is never paid", v.Accepted, v.Of)
	default:
		a.outputState = market.OutputRejected
		text = fmt.Sprintf("the node did not show an output in time, %d of %d agreed: this one is never paid", v.Accepted, v.Of)
	}
	a.step(t, "output", c, "%s: %s", a.outputState, text)
}

// saltOf reads the salt beside an output in a transaction: output_reveal carries output ‖ salt.
func saltOf(t Tx, output [32]byte) (salt [32]byte, ok bool) {
	for _, ix := range t.Instructions {
		if ix.is(bindings.Instruction_OutputReveal, 0) && len(ix.Data) == 72 && [32]byte(ix.Data[8:40]) == output {
			return [32]byte(ix.Data[40:72]), true
		}
	}
	return salt, false
}
