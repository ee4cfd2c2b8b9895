package crank

import (
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const quorum = 6_667

// newMoneyView is newView with a quorum and with what money needs.
func newMoneyView() *view.Accounts {
	v := newView()
	v.Market.Params.QuorumBps = quorum
	v.Market.PaymentMint, v.Market.Treasury = solana.PublicKey{252}, solana.PublicKey{253}
	return v
}

func setRewards(v *view.Accounts, change func(*market.Rewards)) {
	r := &market.Rewards{Meta: market.Meta{Address: market.RewardsAddress()}}
	if change != nil {
		change(r)
	}
	v.Put(r.Address, r)
}

// setSelf makes us the active keeper number 3 of weight 20.
func setSelf(v *view.Accounts, change func(*market.Keeper)) {
	add(v, 2, func(m market.Meta) *market.Keeper {
		k := &market.Keeper{Meta: m}
		k.Wallet, k.Keeper.Status, k.Index, k.Weight, k.RegisteredAt = self, uint8(market.KeeperActive), 3, 20, now-1000
		if change != nil {
			change(k)
		}
		return k
	})
}

// setReport puts a report without leaves into the view: money asks for its status alone.
func setReport(v *view.Accounts, p uint64, change func(*market.Report)) {
	r := &market.Report{Meta: market.Meta{Address: market.ReportAddress(p)}}
	r.Period, r.Report.Status, r.FinalisedAt, r.CreatedAt = p, uint8(market.ReportFinal), now-10, now-20
	if change != nil {
		change(r)
	}
	v.Put(r.Address, r)
}

// rewarded gives a report 300 µUSDC for a weight of 60, a third of which is ours.
func rewarded(r *market.Report) {
	r.Reward, r.RewardLeft, r.RewardWeight = 300, 300, 60
	r.RewardVoters[0] = 1 << 3
}

// keysDue lists the keys of the actions that can be done now.
func keysDue(t *testing.T, v *view.Accounts) []string {
	t.Helper()
	actions, err := Due(v, match.Of(v), self, now, nil)
	require.NoError(t, err)
	var out []string
	for _, a := range actions {
		require.NotEmpty(t, a.Instructions)
		out = append(out, a.Key)
	}
	return out
}

// The last period that is ripe by our clock less its margin: one more has ended since.
const ripe = (now-Margin)/secs - 2

func TestRewardsAreSplitOnceARipeReportIsFinal(t *testing.T) {
	pending := func(r *market.Rewards) { r.Pending = 5 }
	for name, c := range map[string]struct {
		build func(*view.Accounts)
		want  []string
	}{
		"nothing was swept": {func(v *view.Accounts) { setRewards(v, nil); setReport(v, ripe, nil) }, nil},
		"before the account of rewards is known": {func(v *view.Accounts) {
			setReport(v, ripe, nil)
		}, nil},
		"the last ripe report": {func(v *view.Accounts) {
			setRewards(v, pending)
			setReport(v, ripe, nil)
		}, []string{fmt.Sprintf("rewards_accrue/%d", ripe)}},
		"a report that slower keepers may still join": {func(v *view.Accounts) {
			setRewards(v, pending)
			setReport(v, ripe+1, nil)
		}, nil},
		"a report that is not final": {func(v *view.Accounts) {
			setRewards(v, pending)
			setReport(v, ripe, func(r *market.Report) { r.Report.Status, r.FinalisedAt = uint8(market.ReportOpen), 0 })
		}, nil},
		"one that was rewarded": {func(v *view.Accounts) {
			setRewards(v, func(r *market.Rewards) { r.Pending, r.LastPeriod = 5, ripe })
			setReport(v, ripe, nil)
		}, nil},
		"one that is older than the last that was": {func(v *view.Accounts) {
			setRewards(v, func(r *market.Rewards) { r.Pending, r.LastPeriod = 5, ripe })
			setReport(v, ripe-1, nil)
		}, nil},
		"the oldest of several, and it alone": {func(v *view.Accounts) {
			setRewards(v, func(r *market.Rewards) { r.Pending, r.LastPeriod = 5, ripe-3 })
			for p := uint64(ripe - 4); p <= ripe+1; p++ {
				setReport(v, p, func(r *market.Report) {
					if p == ripe-2 {
						r.Report.Status = uint8(market.ReportOpen)
					}
				})
			}
		}, []string{fmt.Sprintf("rewards_accrue/%d", ripe-1)}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMoneyView()
			c.build(v)
			require.Equal(t, c.want, keysDue(t, v))
		})
	}
}

func TestAKeeperClaimsWhatItHasEarned(t *testing.T) {
	byReport := func(p uint64) string { return fmt.Sprintf("rewards_claim/%s/report/%d", self, p) }
	for name, c := range map[string]struct {
		build func(*view.Accounts)
		want  []string
	}{
		"nothing": {func(v *view.Accounts) { setSelf(v, nil); setReport(v, ripe, nil) }, nil},
		"its share of a report": {func(v *view.Accounts) {
			setSelf(v, nil)
			setReport(v, ripe, rewarded)
		}, []string{byReport(ripe)}},
		"awards come with a report's share": {func(v *view.Accounts) {
			setSelf(v, func(k *market.Keeper) { k.Earned = 7 })
			setReport(v, ripe, rewarded)
		}, []string{byReport(ripe)}},
		"one report at a time, the oldest first": {func(v *view.Accounts) {
			setSelf(v, nil)
			setReport(v, ripe, rewarded)
			setReport(v, ripe-1, rewarded)
		}, []string{byReport(ripe - 1)}},
		"awards alone": {func(v *view.Accounts) {
			setSelf(v, func(k *market.Keeper) { k.Earned = 7 })
			setReport(v, ripe, nil)
		}, []string{fmt.Sprintf("rewards_claim/%s/awards/7/9", self)}},
		"a report that it did not vote for, or has claimed": {func(v *view.Accounts) {
			setSelf(v, nil)
			setReport(v, ripe, func(r *market.Report) { rewarded(r); r.RewardVoters[0] = 1 << 4 })
		}, nil},
		"a vote from before it became active": {func(v *view.Accounts) {
			setSelf(v, func(k *market.Keeper) { k.ActiveSince = now - 19 })
			setReport(v, ripe, rewarded)
		}, nil},
		"a keeper that is leaving weighs nothing": {func(v *view.Accounts) {
			setSelf(v, func(k *market.Keeper) { k.Keeper.Status, k.Weight = uint8(market.KeeperExiting), 0 })
			setReport(v, ripe, rewarded)
		}, nil},
		"what others have earned is theirs to claim": {func(v *view.Accounts) {
			add(v, 5, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.Index, k.Weight, k.Earned = solana.PublicKey{7}, uint8(market.KeeperActive), 3, 20, 7
				return k
			})
			setReport(v, ripe, rewarded)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMoneyView()
			setRewards(v, func(r *market.Rewards) { r.Earned = 9 })
			c.build(v)
			require.Equal(t, c.want, keysDue(t, v))
		})
	}

	v := newMoneyView()
	setRewards(v, nil)
	setSelf(v, nil)
	setReport(v, ripe, rewarded)
	actions, err := Due(v, match.Of(v), self, now, nil)
	require.NoError(t, err)
	require.Len(t, actions, 1)
	require.Len(t, actions[0].Instructions, 2, "the keeper's token account may not be there yet")
	accounts := actions[0].Instructions[1].Accounts()
	require.Equal(t, market.ReportAddress(ripe), accounts[3].PublicKey)
	require.Equal(t, market.TokenAddress(self, v.Market.PaymentMint), accounts[5].PublicKey)
}

// A split and a claim may be due at the same time: they are different accounts' news.
func TestSplitAndClaimTogether(t *testing.T) {
	v := newMoneyView()
	setRewards(v, func(r *market.Rewards) { r.Pending, r.LastPeriod = 5, ripe-1 })
	setSelf(v, nil)
	setReport(v, ripe-1, rewarded)
	setReport(v, ripe, nil)
	require.Equal(t, []Kind{RewardsAccrue, RewardsClaim}, kinds(t, v, nil))
}

func TestDisputesAreClosed(t *testing.T) {
	key := func(verb Kind) string { return fmt.Sprintf("%s/%s/%d", verb, solana.PublicKey{60}, now-100) }
	upheld := key(DisputeUphold)
	for name, c := range map[string]struct {
		change func(*market.Dispute)
		noCase bool
		want   []string
	}{
		"nobody voted":                      {func(*market.Dispute) {}, false, nil},
		"votes on both sides, no quorum":    {func(d *market.Dispute) { d.UpheldWeight, d.RejectedWeight = 66, 30 }, false, nil},
		"upheld by the quorum":              {func(d *market.Dispute) { d.UpheldWeight = 67 }, false, []string{upheld}},
		"upheld, and its time is over":      {func(d *market.Dispute) { d.UpheldWeight, d.ClosesAt = 67, now-50 }, false, []string{upheld}},
		"rejected by the quorum":            {func(d *market.Dispute) { d.RejectedWeight = 67 }, false, []string{key(DisputeResolve)}},
		"not decided when its time is over": {func(d *market.Dispute) { d.UpheldWeight, d.ClosesAt = 66, now-Margin }, false, []string{key(DisputeResolve)}},
		"over by our clock alone":           {func(d *market.Dispute) { d.ClosesAt = now }, false, nil},
		"its lease is not known yet":        {func(d *market.Dispute) { d.UpheldWeight = 67 }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMoneyView()
			if !c.noCase {
				addLease(v, 10, nil)
				add(v, 40, func(m market.Meta) *market.Provider { return &market.Provider{Meta: m} })
			}
			add(v, 60, func(m market.Meta) *market.Dispute {
				d := &market.Dispute{Meta: m}
				d.Lease, d.Dispute.Node, d.Dispute.Customer = solana.PublicKey{10}, solana.PublicKey{30}, solana.PublicKey{50}
				d.TotalWeight, d.QuorumBps, d.OpenedAt, d.ClosesAt = 100, 6_667, now-100, now+100
				c.change(d)
				return d
			})
			require.Equal(t, c.want, keysDue(t, v))
		})
	}
}

func TestOutputsAreCompared(t *testing.T) {
	const awarded = now - 200
	key := []string{fmt.Sprintf("output_resolve/%s/%d", solana.PublicKey{20}, int64(awarded))}
	states := func(s ...market.OutputState) []market.OutputState { return s }
	const wanted, committed, revealed, accepted = market.OutputWanted, market.OutputCommitted, market.OutputRevealed, market.OutputAccepted
	for name, c := range map[string]struct {
		states []market.OutputState
		live   uint8
		late   bool
		plain  bool
		want   []string
	}{
		"all are shown":                    {states(revealed, revealed, revealed), 3, false, false, key},
		"one is committed":                 {states(revealed, committed, revealed), 3, false, false, nil},
		"one is missing":                   {states(revealed, wanted, revealed), 3, false, false, nil},
		"one is missing, the time is over": {states(revealed, wanted, revealed), 3, true, false, key},
		"none came, the time is over":      {states(wanted, wanted, wanted), 3, true, false, key},
		"they were compared":               {states(accepted, accepted, market.OutputRejected), 3, true, false, nil},
		"one was withheld": {
			states(accepted, accepted, market.OutputWithheld), 3, true, false,
			[]string{fmt.Sprintf("output_forfeit/%s/%d", solana.PublicKey{10}, int64(now-200))},
		},
		"one lease has been compared":       {states(revealed, revealed, accepted), 3, true, false, nil},
		"a lease is not known yet":          {states(revealed, revealed), 3, true, false, nil},
		"one lease was aborted":             {states(revealed, revealed), 2, false, false, key},
		"an order of one answer":            {states(revealed, revealed, revealed), 3, true, true, nil},
		"no lease is left of the order":     {nil, 0, true, false, nil},
		"a lease that takes no part in one": {states(revealed, market.OutputNone), 2, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newMoneyView()
			addOrder(v, func(o *market.Order) {
				o.NodesWanted, o.NodesAwarded, o.LiveLeases, o.Redundant = 3, 3, c.live, 1
				o.AwardedAt, o.RevealBy = awarded, now
				if c.plain {
					o.Redundant = 0
				}
				if c.late {
					o.RevealBy = now - Margin - 1
				}
			})
			for i, s := range c.states {
				addLease(v, byte(12-i), func(l *market.Lease) { l.Output = uint8(s) })
			}
			require.Equal(t, c.want, keysDue(t, v))
		})
	}

	t.Run("the last second still counts, and leases are named in one order", func(t *testing.T) {
		build := func(until int64) *view.Accounts {
			v := newMoneyView()
			addOrder(v, func(o *market.Order) {
				o.NodesWanted, o.NodesAwarded, o.LiveLeases, o.Redundant, o.AwardedAt, o.RevealBy = 2, 2, 2, 1, awarded, until
			})
			addLease(v, 12, func(l *market.Lease) { l.Output = uint8(wanted) })
			addLease(v, 11, func(l *market.Lease) { l.Output = uint8(revealed) })
			return v
		}
		const last = now - Margin // so that the time ends in the second of our cautious clock
		require.Empty(t, keysDue(t, build(last)))
		v := build(last - 1)
		actions, err := Due(v, match.Of(v), self, now, nil)
		require.NoError(t, err)
		require.Len(t, actions, 1)
		accounts := actions[0].Instructions[0].Accounts()
		require.Equal(t, []solana.PublicKey{{11}, {12}}, []solana.PublicKey{accounts[1].PublicKey, accounts[2].PublicKey})
		require.True(t, accounts[1].IsWritable && accounts[2].IsWritable)
	})
}

// Refusals that say that somebody was faster are no failures; others are.
func TestBenignRefusalsOfMoney(t *testing.T) {
	for kind, code := range map[Kind]bindings.ErrorCode{
		RewardsAccrue: bindings.ErrorCodeNothingOwed, RewardsClaim: bindings.ErrorCodeNothingOwed, DisputeResolve: bindings.ErrorCodeDisputeUpheld,
		OutputResolve: bindings.ErrorCodeWrongOutputState, OutputForfeit: bindings.ErrorCodeWrongOutputState,
	} {
		require.True(t, Benign(kind, refusal(code)), "%s", kind)
		require.False(t, Benign(kind, refusal(bindings.ErrorCodeInvariantBroken)), "%s", kind)
	}
	require.False(t, Benign(DisputeUphold, refusal(bindings.ErrorCodeDisputeNotUpheld)))
}
