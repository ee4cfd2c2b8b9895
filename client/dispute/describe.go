package dispute

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Dispute is an open dispute.
type Dispute struct {
	Address         string   `json:"address"`
	Lease           string   `json:"lease"`
	Node            string   `json:"node"`
	Customer        string   `json:"customer"`
	Kind            string   `json:"kind"`
	ComplaintSHA256 string   `json:"complaintSha256"`
	Deposit         string   `json:"deposit"`
	OpenedAt        int64    `json:"openedAt"`
	ClosesAt        int64    `json:"closesAt"`
	SecondsLeft     int64    `json:"secondsLeft"`
	UpheldWeight    string   `json:"upheldWeight"`
	RejectedWeight  string   `json:"rejectedWeight"`
	TotalWeight     string   `json:"totalWeight"`
	QuorumBPS       uint16   `json:"quorumBps"`
	UpheldBy        []string `json:"upheldBy"` // wallets, or indices of keepers that have left
	RejectedBy      []string `json:"rejectedBy"`
	Verdict         string   `json:"verdict"`
}

// Describe describes a dispute at a time of the cluster, unix seconds.
func Describe(d *market.Dispute, keepers []market.Keeper, now int64) Dispute {
	return Dispute{
		Address: d.Address.String(), Lease: d.Lease.String(), Node: d.Node.String(), Customer: d.Customer.String(),
		Kind: market.DisputeKind(d.Kind).String(), ComplaintSHA256: hex.EncodeToString(d.EvidenceHash[:]), Deposit: market.USDC(d.Deposit).String(),
		OpenedAt: d.OpenedAt, ClosesAt: d.ClosesAt, SecondsLeft: max(d.ClosesAt-now, 0), UpheldWeight: market.GNT(d.UpheldWeight).String(),
		RejectedWeight: market.GNT(d.RejectedWeight).String(), TotalWeight: market.GNT(d.TotalWeight).String(), QuorumBPS: d.QuorumBps,
		UpheldBy: service.Voters(d.UpheldVoters, d.OpenedAt, keepers), RejectedBy: service.Voters(d.RejectedVoters, d.OpenedAt, keepers), Verdict: d.Verdict().String(),
	}
}

// Next says what happens to a dispute next.
func (d *Dispute) Next() string {
	switch {
	case d.Verdict == market.VerdictUpheld.String():
		return "anyone may turn it into a fault, and keepers do; the deposit is free then"
	case d.Verdict == market.VerdictRejected.String():
		return "anyone may close it, and keepers do; the deposit is lost then, half of it to the provider"
	case d.SecondsLeft == 0:
		return "its time is over: anyone may close it, and keepers do; a quarter of the deposit is the provider's then"
	}
	return fmt.Sprintf("%s %% of the weight on one side decides; undecided it ends in %s and costs a quarter of the deposit", market.Percent(d.QuorumBPS), service.Span(d.SecondsLeft))
}

// Scope is the scope of a lease's dispute and of keepers; of all disputes when the lease is not named in full.
func Scope(lease string) watch.Scope {
	key, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return view.With(view.Kinds(market.KindDispute, market.KindKeeper))
	}
	return view.With(view.Kinds(market.KindKeeper), key, market.DisputeAddress(key))
}

// Find finds the open dispute of a lease, which is named by its address or the beginning of it.
func Find(v *view.View, lease string) (market.Dispute, error) {
	var disputed []solana.PublicKey
	for _, d := range v.Disputes() {
		disputed = append(disputed, d.Lease)
	}
	key, err := service.PickAddress(lease, "disputed lease", disputed)
	if err != nil {
		return market.Dispute{}, err
	}
	d, ok := v.DisputeOf(key)
	if ok {
		return d, nil
	}
	l, exists := v.Lease(key)
	switch {
	case !exists:
		return d, service.Refused(fmt.Sprintf("there is no lease %s and no dispute of it (any more)", key), "its history is in: gantry audit "+key.String())
	case l.Disputed == 1:
		return d, service.Refused(fmt.Sprintf("the dispute of lease %s is closed", key), "its outcome: gantry audit "+key.String())
	}
	return d, service.Refused(fmt.Sprintf("lease %s is not disputed", key), "its customer may: gantry dispute open LEASE")
}

// MayOpen is the deposit with which the desk's wallet disputes a lease of the node n, or why it cannot.
func MayOpen(ctx context.Context, d *operate.Desk, n *market.Node, l *market.Lease) (market.USDC, error) {
	deposit, err := depositOf(&d.Market, l, n)
	if err != nil {
		return 0, err
	}
	c, _, err := d.Credits(ctx)
	if err != nil {
		return 0, err
	}
	if c.Free() < deposit {
		return 0, service.Refused(fmt.Sprintf("dispute refused: its deposit is %s USDC, %s free%s", deposit, c.Free(), service.ReservedBy(c)),
			fmt.Sprintf("add %s with: gantry credits add %s", deposit-c.Free(), deposit-c.Free()))
	}
	return deposit, nil
}

// depositOf is what the dispute of a lease reserves. Errors: service.Failure, where the lease cannot be disputed.
func depositOf(mk *market.Market, l *market.Lease, n *market.Node) (market.USDC, error) {
	switch err := l.CanOpenDispute(); {
	case market.Is(err, market.CodeWrongLeaseStatus):
		return 0, service.Refused(fmt.Sprintf("dispute refused: lease %s has not started", l.Address), "a lease that never starts costs nothing")
	case err != nil:
		return 0, service.Refused(fmt.Sprintf("dispute refused: lease %s was disputed before, and a lease is disputed once", l.Address), "its outcome: gantry audit "+l.Address.String())
	}
	frozen, err := market.DisputeSlash(l, n, &mk.Params)
	if err != nil {
		return 0, err
	}
	return market.DisputeDeposit(market.USDC(l.Paid), market.USDC(mk.Params.DisputeDeposit), frozen, mk.Params.StakePrice, mk.Params.AppealSecs)
}

// MayVote says why a keeper cannot vote on a dispute.
func MayVote(d *market.Dispute, k *market.Keeper, now int64) error {
	switch err := d.CanVote(k, now); {
	case market.Is(err, market.CodeKeeperNotActive) && k.State() != market.KeeperActive:
		return service.Refused(fmt.Sprintf("keeper %s is %s and has no vote", k.Wallet, k.State()), "active keepers vote")
	case market.Is(err, market.CodeKeeperNotActive):
		return service.Refused(fmt.Sprintf("keeper %s became active at %s UTC, not before the dispute was opened at %s UTC", k.Wallet, service.When(k.ActiveSince), service.When(d.OpenedAt)),
			"keepers that were active before vote")
	case market.Is(err, market.CodeTooLate):
		return service.Refused(fmt.Sprintf("the vote closed at %s UTC", service.When(d.ClosesAt)), "anyone may close the dispute now, and keepers do")
	case market.Is(err, market.CodeAlreadyVoted):
		return service.Refused(fmt.Sprintf("keeper %s has voted on this dispute", k.Wallet), "a vote cannot be changed; see: gantry dispute show "+d.Lease.String())
	}
	return nil
}

// Changed is a dispute after a transaction about it.
type Changed struct {
	Dispute Dispute      `json:"dispute"`
	Open    bool         `json:"open"` // false when it was closed right after
	Tx      service.Sent `json:"transaction"`
}
