package crank

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

const (
	now    = 10_000
	secs   = 10
	period = now/secs - 5
)

var self = solana.PublicKey{250}

func newView() *view.Accounts {
	v := view.NewAccounts()
	m := &market.Market{}
	m.StakeMint = solana.PublicKey{251}
	m.Params = bindings.Params{
		PeriodSecs: secs, AppealSecs: 100, ReportRetentionSecs: 200, KeeperActivationSecs: 30,
		SettleDeadlinePeriods: 2, RatingSecs: 20,
	}
	v.Put(market.MarketAddress(), m)
	return v
}

func add[T any](v *view.Accounts, key byte, make func(market.Meta) *T) *T {
	meta := market.Meta{Address: solana.PublicKey{key}}
	x := make(meta)
	v.Put(meta.Address, x)
	return x
}

func addLease(v *view.Accounts, key byte, change func(*market.Lease)) *market.Lease {
	return add(v, key, func(m market.Meta) *market.Lease {
		l := &market.Lease{Meta: m}
		l.Order, l.Lease.Node, l.Lease.Provider, l.Lease.Customer = solana.PublicKey{20}, solana.PublicKey{30}, solana.PublicKey{40}, solana.PublicKey{50}
		l.Lease.Status, l.AwardedAt, l.StartedAt, l.FundedUntil = uint8(market.LeaseRunning), now-200, now-100, now+1000
		l.SettleSecs, l.RatingSecs, l.GraceSecs, l.Price, l.Gpus = 20, 20, 2, 3_600_000, 1
		if change != nil {
			change(l)
		}
		return l
	})
}

func addOrder(v *view.Accounts, change func(*market.Order)) {
	add(v, 20, func(m market.Meta) *market.Order {
		o := &market.Order{Meta: m}
		o.Order.Customer, o.RentPayer = solana.PublicKey{50}, solana.PublicKey{50}
		o.Order.Status, o.NodesWanted, o.NodesAwarded, o.LiveLeases = uint8(market.OrderAwarded), 1, 1, 1
		o.AwardedAt, o.AwardDeadline, o.StartSecs = now-200, now-150, 50
		if change != nil {
			change(o)
		}
		return o
	})
}

func kinds(t *testing.T, v *view.Accounts, sets Sets) []Kind {
	actions, err := Due(v, match.Of(v), self, now, sets)
	require.NoError(t, err)
	var out []Kind
	keys := map[string]bool{}
	for _, a := range actions {
		require.NotEmpty(t, a.Instructions)
		require.False(t, keys[a.Key], "key %s twice", a.Key)
		keys[a.Key] = true
		out = append(out, a.Kind)
	}
	return out
}

func TestDueByAccount(t *testing.T) {
	for name, c := range map[string]struct {
		build func(*view.Accounts)
		want  []Kind
	}{
		"nothing": {func(*view.Accounts) {}, nil},
		"a keeper whose delay is over": {func(v *view.Accounts) {
			add(v, 1, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.PendingSince = self, uint8(market.KeeperPending), now-31
				return k
			})
		}, []Kind{KeeperActivate}},
		"another's delay is over: its own wallet is wanted": {func(v *view.Accounts) {
			add(v, 1, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.PendingSince = solana.PublicKey{9}, uint8(market.KeeperPending), now-31
				return k
			})
		}, nil},
		"a keeper that does not vote": {func(v *view.Accounts) {
			v.Market.FinalReports = 35
			add(v, 1, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.VotedReports = solana.PublicKey{9}, uint8(market.KeeperActive), 10
				return k
			})
		}, []Kind{KeeperSuspend}},
		"a keeper that has voted on one of the last reports": {func(v *view.Accounts) {
			v.Market.FinalReports = 34
			add(v, 1, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.VotedReports = solana.PublicKey{9}, uint8(market.KeeperActive), 10
				return k
			})
		}, nil},
		"a keeper whose delay is just over by our clock": {func(v *view.Accounts) {
			add(v, 1, func(m market.Meta) *market.Keeper {
				k := &market.Keeper{Meta: m}
				k.Wallet, k.Keeper.Status, k.PendingSince = self, uint8(market.KeeperPending), now-30
				return k
			})
		}, nil},
		"an order past its deadline": {func(v *view.Accounts) {
			addOrder(v, func(o *market.Order) { o.Order.Status, o.LiveLeases = uint8(market.OrderOpen), 0 })
		}, []Kind{OrderExpire}},
		"an order over several machines that nobody completes": {func(v *view.Accounts) {
			addOrder(v, func(o *market.Order) {
				o.Order.Status, o.LiveLeases, o.PartsBy, o.AwardDeadline = uint8(market.OrderOpen), 1, now-9, now+20
			})
		}, []Kind{OrderExpire}},
		"an order over several machines that is being awarded": {func(v *view.Accounts) {
			addOrder(v, func(o *market.Order) {
				o.Order.Status, o.LiveLeases, o.PartsBy, o.AwardDeadline = uint8(market.OrderOpen), 1, now+9, now+20
			})
		}, nil},
		"an order that lapsed and is not closed": {func(v *view.Accounts) {
			addOrder(v, func(o *market.Order) { o.Order.Status, o.LiveLeases = uint8(market.OrderLapsed), 0 })
		}, []Kind{OrderExpire}},
		"a lease that did not start": {func(v *view.Accounts) {
			addOrder(v, nil)
			addLease(v, 10, func(l *market.Lease) { l.Lease.Status, l.StartedAt = uint8(market.LeaseAwarded), 0 })
		}, []Kind{LeaseAbort}},
		"a lease that may still start": {func(v *view.Accounts) {
			addOrder(v, func(o *market.Order) { o.AwardedAt = now - 10 })
			addLease(v, 10, func(l *market.Lease) { l.Lease.Status, l.StartedAt = uint8(market.LeaseAwarded), 0 })
		}, nil},
		"a running lease": {func(v *view.Accounts) { addOrder(v, nil); addLease(v, 10, nil) }, nil},
		"a guarantee that is over": {func(v *view.Accounts) {
			add(v, 30, func(m market.Meta) *market.Node {
				n := &market.Node{Meta: m}
				n.Status, n.GuaranteeBps, n.GuaranteedUntil = uint8(market.NodeActive), 9_900, now-1-2*secs-100
				n.GuaranteeSettleSecs, n.GuaranteeAppealSecs = 2*secs, 100
				return n
			})
		}, []Kind{GuaranteeResolve}},
		"a guarantee whose last reports and appeals may come": {func(v *view.Accounts) {
			add(v, 30, func(m market.Meta) *market.Node {
				n := &market.Node{Meta: m}
				n.Status, n.GuaranteeBps, n.GuaranteedUntil = uint8(market.NodeActive), 9_900, now-2*secs-100
				n.GuaranteeSettleSecs, n.GuaranteeAppealSecs = 2*secs, 100
				return n
			})
		}, nil},
		"a guarantee of a node whose fault may be voided": {func(v *view.Accounts) {
			add(v, 30, func(m market.Meta) *market.Node {
				n := &market.Node{Meta: m}
				n.Status, n.GuaranteeBps, n.GuaranteedUntil, n.PendingNodeFaults = uint8(market.NodeSuspended), 9_900, now-1_000, 1
				return n
			})
		}, nil},
		"a lease that ran out": {func(v *view.Accounts) {
			addLease(v, 10, func(l *market.Lease) { l.FundedUntil = now - 1 })
		}, []Kind{LeaseEnd}},
		"a lease of a node that was slashed and not topped up": {func(v *view.Accounts) {
			addLease(v, 10, nil)
			add(v, 30, func(m market.Meta) *market.Node {
				n := &market.Node{Meta: m}
				n.Status, n.BillingUntil = uint8(market.NodeActive), now-1
				return n
			})
		}, []Kind{LeaseEnd}},
		"a failed lease": {func(v *view.Accounts) {
			addLease(v, 10, func(l *market.Lease) { l.Lease.Status, l.EndedAt = uint8(market.LeaseFailed), now-20 })
		}, []Kind{LeaseEnd}},
		"a failed lease that may still move to another node": {func(v *view.Accounts) {
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.MayMigrate, l.SettleSecs, l.FundedUntil = uint8(market.LeaseFailed), now-20, 1, 60, now+100
			})
		}, nil},
		"a failed lease that no keeper moved in time": {func(v *view.Accounts) {
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.MayMigrate, l.SettleSecs, l.FundedUntil = uint8(market.LeaseFailed), now-70, 1, 60, now+100
			})
		}, []Kind{LeaseEnd}},
		"verified seconds that are not paid": {func(v *view.Accounts) {
			add(v, 40, func(m market.Meta) *market.Provider { return &market.Provider{Meta: m} })
			addLease(v, 10, func(l *market.Lease) { l.VerifiedSecs, l.PaidSecs = 30, 20 })
		}, []Kind{LeaseSettleReport}},
		"verified seconds below those paid by receipts": {func(v *view.Accounts) {
			add(v, 40, func(m market.Meta) *market.Provider { return &market.Provider{Meta: m} })
			addLease(v, 10, func(l *market.Lease) { l.VerifiedSecs, l.PaidSecs = 30, 40 })
		}, nil},
		"a lease that is over and settled": {func(v *view.Accounts) {
			addOrder(v, nil)
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.PaidSecs = uint8(market.LeaseEnded), now-50, 50
			})
		}, []Kind{LeaseClose}},
		"one that its customer may still rate": {func(v *view.Accounts) {
			addOrder(v, nil)
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.PaidSecs, l.Lease.Paid = uint8(market.LeaseEnded), now-10, 90, 1
			})
		}, nil},
		"one that paid nothing waits for no rating": {func(v *view.Accounts) {
			addOrder(v, nil)
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.StartedAt, l.EndedAt = uint8(market.LeaseEnded), now-10, now-10
			})
		}, []Kind{LeaseClose}},
		"one with a fault": {func(v *view.Accounts) {
			addOrder(v, nil)
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.PaidSecs, l.PendingFaults = uint8(market.LeaseEnded), now-50, 50, 1
			})
		}, nil},
		"one that is paid before it is closed": {func(v *view.Accounts) {
			addOrder(v, nil)
			add(v, 40, func(m market.Meta) *market.Provider { return &market.Provider{Meta: m} })
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.VerifiedSecs, l.PaidSecs = uint8(market.LeaseEnded), now-50, 50, 40
				l.SettleSecs = 100
			})
		}, []Kind{LeaseSettleReport}},
		"one that could not be paid in its time": {func(v *view.Accounts) {
			addOrder(v, nil)
			add(v, 40, func(m market.Meta) *market.Provider { return &market.Provider{Meta: m} })
			addLease(v, 10, func(l *market.Lease) {
				l.Lease.Status, l.EndedAt, l.VerifiedSecs, l.PaidSecs = uint8(market.LeaseEnded), now-50, 50, 40
				l.SettleSecs = 20
			})
		}, []Kind{LeaseSettleReport, LeaseClose}},
		"a fault whose appeal window is over": {func(v *view.Accounts) {
			add(v, 60, func(m market.Meta) *market.Fault { f := &market.Fault{Meta: m}; f.ApplicableAt = now - 1; return f })
		}, []Kind{SlashApply}},
		"a fault that may be appealed": {func(v *view.Accounts) {
			add(v, 60, func(m market.Meta) *market.Fault { f := &market.Fault{Meta: m}; f.ApplicableAt = now; return f })
		}, nil},
		"an old report": {func(v *view.Accounts) {
			add(v, 70, func(m market.Meta) *market.Report {
				r := &market.Report{Meta: m}
				r.Period, r.Report.Status = (now-220)/secs, uint8(market.ReportOpen)
				return r
			})
		}, []Kind{ReportClose}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView()
			c.build(v)
			require.Equal(t, c.want, kinds(t, v, nil))
		})
	}
	require.Empty(t, func() []Action {
		a, err := Due(view.NewAccounts(), match.New(), self, now, nil)
		require.NoError(t, err)
		return a
	}(), "before the market is known")
}

func TestPayouts(t *testing.T) {
	v := newView()
	payout := func(id byte, beneficiary, rentPayer solana.PublicKey, at int64) {
		add(v, id, func(m market.Meta) *market.Payout {
			p := &market.Payout{Meta: m}
			p.Beneficiary, p.RentPayer, p.PayableAt, p.Amount = beneficiary, rentPayer, at, 1
			return p
		})
	}
	other := solana.PublicKey{1}
	payout(60, self, other, now-1)
	payout(61, self, other, now)     // too early: the chain's clock may be behind ours
	payout(62, other, other, now-10) // none of ours
	payout(63, other, self, now-10)  // whose rent comes back to us
	actions, err := Due(v, match.Of(v), self, now, nil)
	require.NoError(t, err)
	require.Len(t, actions, 2)
	for _, a := range actions {
		require.Equal(t, PayoutClaim, a.Kind)
		require.True(t, a.Mine)
		require.Len(t, a.Instructions, 2, "the beneficiary's token account may not be there yet")
	}
}

// A fault that was applied compensates each lease of its node once, and is closed when nothing is left to claim.
func TestFaultsCompensateAndClose(t *testing.T) {
	v := newView()
	add(v, 30, func(m market.Meta) *market.Node { return &market.Node{Meta: m} })
	l := addLease(v, 10, func(l *market.Lease) {
		l.Lease.Status, l.EndedAt = uint8(market.LeaseEnded), now-5_000
		l.FaultWindow = ^uint32(0)
	})
	f := add(v, 60, func(m market.Meta) *market.Fault { return &market.Fault{Meta: m} })
	f.Fault.Node, f.Status, f.Serial, f.ClaimsUntil, f.PoolLeft = l.Lease.Node, 2, 1, now+100, 5
	kinds := func() (out []Kind) {
		actions, err := Due(v, match.Of(v), self, now, nil)
		require.NoError(t, err)
		for _, a := range actions {
			if a.Kind == SlashCompensate || a.Kind == SlashClose || a.Kind == SlashApply {
				out = append(out, a.Kind)
			}
		}
		return out
	}
	require.Equal(t, []Kind{SlashCompensate}, kinds())
	l.LastFault = 1
	require.Empty(t, kinds())
	f.ClaimsUntil = now - 10
	require.Equal(t, []Kind{SlashClose}, kinds())
	l.LastFault = 0
	require.Equal(t, []Kind{SlashCompensate}, kinds(), "who was harmed comes first")
}

// A transaction has room for some leases. It holds finding P 15.
func TestManyLeasesOfAGuaranteeAreCountedInSteps(t *testing.T) {
	v := newView()
	n := add(v, 30, func(m market.Meta) *market.Node { return &market.Node{Meta: m} })
	n.Status, n.GuaranteeBps, n.GuaranteedUntil = uint8(market.NodeActive), 9_900, now-1-2*secs-100
	n.GuaranteeSettleSecs, n.GuaranteeAppealSecs, n.GuaranteeOpen = 2*secs, 100, 50
	for i := range byte(51) {
		addLease(v, 100+i, func(l *market.Lease) { l.AwardedAt = n.GuaranteedUntil - 1 + int64(i/50) })
	}
	keys, counted := map[string]bool{}, 0
	for _, want := range []int{20, 20, 10, 0} {
		actions, err := Due(v, match.Of(v), self, now, nil)
		require.NoError(t, err)
		for _, a := range actions {
			if a.Kind != GuaranteeResolve {
				continue
			}
			require.False(t, keys[a.Key], "each step is an action of its own")
			keys[a.Key] = true
			require.True(t, txform.Legacy.Holds(self, a.Instructions...))
			leases := a.Instructions[0].Accounts()[6:]
			require.Len(t, leases, want)
			for _, l := range leases {
				require.True(t, l.IsWritable)
				v.Leases[l.PublicKey].CountedUntil = n.GuaranteedUntil
			}
			counted += len(leases)
			n.GuaranteeOpen -= uint16(len(leases))
		}
	}
	require.Equal(t, 50, counted)
	require.Len(t, keys, 4)
}

// addReport puts a report with leaves into a view; final or not.
func addReport(t *testing.T, v *view.Accounts, p uint64, final bool, leaves ...records.Leaf) *report.Set {
	for i := range leaves {
		leaves[i].Period = records.Period(p)
	}
	records.SortLeaves(leaves)
	set, err := report.NewSet(leaves)
	require.NoError(t, err)
	r := &market.Report{Meta: market.Meta{Address: market.ReportAddress(p)}}
	r.Period, r.Report.Status = p, uint8(market.ReportOpen)
	if final {
		r.Report.Status, r.Root, r.FinalisedAt = uint8(market.ReportFinal), set.Root, now-10
	}
	v.Put(r.Address, r)
	return set
}

func holding(sets ...*report.Set) Sets {
	return func(p records.Period, root records.Hash) *report.Set {
		for _, s := range sets {
			if s.Period == p && s.Root == root {
				return s
			}
		}
		return nil
	}
}

func TestLeavesAreAppliedInOrder(t *testing.T) {
	node, lease := solana.PublicKey{30}, solana.PublicKey{10}
	of := func(l solana.PublicKey, flags records.Flags, down uint32) records.Leaf {
		leaf := records.Leaf{Node: node, Lease: l, Flags: flags}
		if !l.IsZero() {
			leaf.DowntimeSeconds = down
		}
		return leaf
	}
	none := solana.PublicKey{}
	addNode := func(v *view.Accounts, last uint64) {
		add(v, 30, func(m market.Meta) *market.Node { n := &market.Node{Meta: m}; n.LastReportPeriod = last; return n })
	}
	keys := func(v *view.Accounts, sets ...*report.Set) []string {
		actions, err := Due(v, match.Of(v), self, now, holding(sets...))
		require.NoError(t, err)
		var out []string
		for _, a := range actions {
			out = append(out, a.Key)
		}
		return out
	}
	apply := func(p uint64, l solana.PublicKey) string { return fmt.Sprintf("report_apply/%d/%s/%s", p, node, l) }
	fault := func(p uint64, l solana.PublicKey) string { return fmt.Sprintf("fault_open/%d/%s/%s", p, node, l) }

	v := newView()
	addNode(v, 0)
	addLease(v, 10, nil)
	a := addReport(t, v, period, true, of(none, 0, 0), of(lease, 0, 0))
	b := addReport(t, v, period+1, true, of(none, 0, 0), of(lease, 0, 0))
	require.Equal(t, []string{apply(period, lease), apply(period+1, lease)}, keys(v, a, b), "the lease's leaf brings the node's news; oldest first")

	const one = 1 // the window in which only the last period was applied
	v.Nodes[node].LastReportPeriod, v.Nodes[node].ReportWindow = period, one
	v.Leases[lease].LastReportPeriod, v.Leases[lease].ReportWindow = period, one
	require.Equal(t, []string{apply(period+1, lease)}, keys(v, a, b))

	v.Leases[lease].LastReportPeriod, v.Leases[lease].ReportWindow = period+1, 0b11
	v.Nodes[node].LastReportPeriod = period + 1
	require.Equal(t, []string{apply(period, lease)}, keys(v, a, b), "a gap is filled")
	v.Nodes[node].ReportWindow = 0b11
	require.Empty(t, keys(v, a, b))

	t.Run("a closed lease", func(t *testing.T) {
		v := newView()
		addNode(v, 0)
		a := addReport(t, v, period, true, of(none, records.FlagWorkFailed, 0), of(lease, records.FlagWorkFailed, 0))
		require.Equal(t, []string{fmt.Sprintf("fault_open/%d/%s", period, node)}, keys(v, a), "any leaf of the node shows it")
	})
	t.Run("an older report that is not final", func(t *testing.T) {
		v := newView()
		addNode(v, 0)
		a := addReport(t, v, period, false, of(none, 0, 0))
		b := addReport(t, v, period+1, true, of(none, 0, 0))
		require.Equal(t, []string{apply(period+1, none)}, keys(v, a, b))
	})
	t.Run("a final report whose leaves are not here", func(t *testing.T) {
		v := newView()
		addNode(v, 0)
		addReport(t, v, period, true, of(none, 0, 0))
		require.Empty(t, keys(v))
	})
	t.Run("offline beyond the grace", func(t *testing.T) {
		v := newView()
		addNode(v, 0)
		addLease(v, 10, nil)
		a := addReport(t, v, period, true, of(none, records.FlagOffline, 0), of(lease, records.FlagOffline, 3))
		require.Equal(t, []string{fault(period, lease)}, keys(v, a))
		b := addReport(t, v, period, true, of(none, records.FlagOffline, 0), of(lease, records.FlagOffline, 2))
		require.Equal(t, []string{apply(period, lease)}, keys(v, b), "within the grace")
	})
	t.Run("without a lease, offline is no fault", func(t *testing.T) {
		v := newView()
		addNode(v, 0)
		a := addReport(t, v, period, true, of(none, records.FlagOffline|records.FlagUnhealthy, 0))
		require.Equal(t, []string{apply(period, none)}, keys(v, a))
	})
	t.Run("proofs lead to the root", func(t *testing.T) {
		v := newView()
		var leaves []records.Leaf
		for i := byte(1); i <= 7; i++ {
			add(v, i, func(m market.Meta) *market.Node { return &market.Node{Meta: m} })
			leaves = append(leaves, records.Leaf{Node: solana.PublicKey{i}})
		}
		set := addReport(t, v, period, true, leaves...)
		actions, err := Due(v, match.Of(v), self, now, holding(set))
		require.NoError(t, err)
		require.Len(t, actions, 7)
		batches := Pack(actions, self, txform.Legacy, MaxBatch, nil)
		require.LessOrEqual(t, len(batches), 4, "at least two share a transaction")
		for _, b := range batches {
			require.True(t, txform.Legacy.Holds(self, b.Instructions()...))
		}
	})
}

func TestPackKeepsTroubleAlone(t *testing.T) {
	var actions []Action
	ix := solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{}, make([]byte, 200))
	for i := range 12 {
		kind := ReportApply
		if i >= 10 {
			kind = LeaseClose
		}
		actions = append(actions, Action{Kind: kind, Key: fmt.Sprint(i), Instructions: []solana.Instruction{ix}})
	}
	batches := Pack(actions, self, txform.Legacy, 3, func(a Action) bool { return a.Key == "4" })
	var got [][]string
	for _, b := range batches {
		got = append(got, b.Keys())
		require.True(t, txform.Legacy.Holds(self, b.Instructions()...))
	}
	require.Equal(t, [][]string{{"0", "1", "2"}, {"3"}, {"4"}, {"5", "6", "7"}, {"8", "9"}, {"10", "11"}}, got)
	require.Len(t, Pack(actions[:10], self, txform.Legacy, 100, nil), 3, "by size: four of them fill a transaction")
	require.Len(t, Pack(actions[:10], self, txform.VersionOne, 100, nil), 1, "version 1 holds all ten")
	require.Empty(t, Pack(nil, self, txform.Legacy, 3, nil))
}

// refusal is an error of the program as the transaction manager returns it.
func refusal(code bindings.ErrorCode) error {
	return fmt.Errorf("submit: %w", &txerr.ProgramError{Program: market.ProgramID, HasCode: true, Code: uint32(code), Name: "Custom"})
}

func TestBenign(t *testing.T) {
	program := refusal
	require.True(t, Benign(ReportApply, program(bindings.ErrorCodeAlreadyApplied)))
	require.True(t, Benign(FaultOpen, program(bindings.ErrorCodeNoFault)))
	require.True(t, Benign(LeaseClose, program(bindings.ErrorCodeUnsettled)))
	require.False(t, Benign(ReportApply, program(bindings.ErrorCodeInvalidProof)))
	require.False(t, Benign(SlashApply, program(bindings.ErrorCodeInvariantBroken)))
	require.True(t, Benign(ReportClose, &txerr.ProgramError{Program: market.ProgramID, Name: "AccountDataTooSmall"}))
	require.True(t, Benign(LeaseEnd, program(3012)), "the framework: account is gone")
	require.False(t, Benign(LeaseEnd, &txerr.ProgramError{Program: market.ProgramID, Name: "ProgramFailedToComplete"}))
	require.False(t, Benign(ReportApply, errors.New("no endpoint answers")))
}
