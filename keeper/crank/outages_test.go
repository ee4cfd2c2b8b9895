package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txform"
)

// awayView is failedView with a lease that runs, on a node that was away by the keepers' votes.
func awayView() (*view.Accounts, *market.Lease, *market.Outage) {
	v, l := failedView()
	l.Lease.Status, l.EndedAt = uint8(market.LeaseRunning), 0
	o := &market.Outage{Meta: market.Meta{Address: market.OutageAddress(l.Lease.Node)}}
	o.Outage.Node, o.RentPayer = l.Lease.Node, solana.PublicKey{99}
	o.OpenedAt, o.LastAnswer, o.SeenAt = now-3, now-10, now-1
	v.Put(o.Address, o)
	return v, l, o
}

func TestLeasesLeaveANodeThatIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *view.Accounts, l *market.Lease, o *market.Outage)
		want   []Kind
	}{
		"to the other node": {func(*view.Accounts, *market.Lease, *market.Outage) {}, []Kind{LeaseOutage}},
		"without a quorum":  {func(_ *view.Accounts, _ *market.Lease, o *market.Outage) { o.SeenAt = 0 }, nil},
		"its time is over":  {func(_ *view.Accounts, _ *market.Lease, o *market.Outage) { o.SeenAt = now - market.OutageMoveSecs - 1 }, nil},
		"started after it":  {func(_ *view.Accounts, l *market.Lease, _ *market.Outage) { l.StartedAt = now - 9 }, nil},
		"which may not":     {func(_ *view.Accounts, l *market.Lease, _ *market.Outage) { l.MayMigrate = 0 }, nil},
		"nothing is left":   {func(_ *view.Accounts, l *market.Lease, _ *market.Outage) { l.FundedUntil = now - 20 }, nil},
		"nobody for that":   {func(_ *view.Accounts, l *market.Lease, _ *market.Outage) { l.Price-- }, nil},
		"awards are paused": {func(v *view.Accounts, _ *market.Lease, _ *market.Outage) { v.Market.Paused = market.PauseAwards }, nil},
		"another node's":    {func(_ *view.Accounts, l *market.Lease, o *market.Outage) { o.Outage.Node = solana.PublicKey{31} }, nil},
		"we are not active": {func(v *view.Accounts, _ *market.Lease, _ *market.Outage) {
			v.Keepers[self].Keeper.Status = uint8(market.KeeperExiting)
		}, nil},
		"it has ended since": {func(_ *view.Accounts, l *market.Lease, _ *market.Outage) { l.Lease.Status = uint8(market.LeaseEnded) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, l, o := awayView()
			c.change(v, l, o)
			moves := Moves{Matcher: match.Of(v), Self: self}
			actions, err := moves.Due(v, now)
			require.NoError(t, err)
			var got []Kind
			for _, a := range actions {
				got = append(got, a.Kind)
			}
			require.Equal(t, c.want, got)
			if len(c.want) == 0 {
				return
			}
			require.Len(t, actions[0].Instructions, 2, "it fails in the transaction that moves it")
			require.Equal(t, market.OutageFaultAddress(l.Address), actions[0].Instructions[0].Accounts()[8].PublicKey)
			require.Equal(t, solana.PublicKey{31}, actions[0].Instructions[1].Accounts()[8].PublicKey)
			require.True(t, txform.Legacy.Holds(self, Batch{LeaseOutage, actions}.Instructions()...), "one transaction")
		})
	}
}

// A lease that fails by votes ends at the last answer, or where its payment ends.
func TestALeaseFailsWhereItsPaymentEnds(t *testing.T) {
	_, l, o := awayView()
	failed, ok := l.FailedBy(o, now)
	require.True(t, ok)
	require.EqualValues(t, now-10, failed.EndedAt)
	require.Equal(t, market.LeaseFailed, failed.State())
	l.PaidSecs = 95 // of a hundred since its start
	failed, ok = l.FailedBy(o, now)
	require.True(t, ok)
	require.EqualValues(t, now-5, failed.EndedAt)
}

func TestVotesThatCountNoMoreAreClosed(t *testing.T) {
	v, _, o := awayView()
	closed := func() (n int) {
		actions, err := Due(v, match.Of(v), self, now, nil)
		require.NoError(t, err)
		for _, a := range actions {
			if a.Kind == OutageClose {
				n++
				require.Equal(t, o.RentPayer, a.Instructions[0].Accounts()[1].PublicKey)
			}
		}
		return n
	}
	require.Zero(t, closed())
	o.SeenAt = now - Margin - market.OutageMoveSecs - 1
	require.Equal(t, 1, closed())
	o.SeenAt, o.OpenedAt = 0, now-Margin-market.OutageVoteSecs
	require.Zero(t, closed())
	o.OpenedAt--
	require.Equal(t, 1, closed())
}
