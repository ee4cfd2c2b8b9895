package buy

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestWhatIsNotOrderedAgain(t *testing.T) {
	for says, r := range map[string]Request{
		"is for one machine":             {Retry: true, Nodes: 2},
		"ends other leases with their":   {Retry: true, RunToCompletion: true},
		"leave --retry out, or --run-to": {Retry: true, Redundancy: 3},
		"a guaranteed one stays":         {Retry: true, Guaranteed: true},
		"takes standing prices":          {Retry: true, Sealed: true},
		"job of a measured guest":        {Retry: true, Guest: true},
	} {
		err := r.checkRetry()
		require.Error(t, err, says)
		require.Contains(t, err.Error()+classify(err).Advice, says)
	}
	require.NoError(t, (&Request{Retry: true, Nodes: 1, Spot: true}).checkRetry())
	require.NoError(t, (&Request{Nodes: 2, RunToCompletion: true}).checkRetry())
}

// leaving is a purchase whose lease its machine has left after 100 of 700 seconds.
func leaving() (*deal, market.Lease) {
	d := &deal{b: &Buyer{}, p: purchase.Purchase{Retry: true, Name: "train", Order: solana.PublicKey{7}}}
	d.order = d.p.Order
	d.mk.Params.StartDeadlineSecs = 60
	d.p.Args.Duration, d.p.Args.GPUsPerNode, d.p.Args.Nodes, d.p.Args.MaxPrice = 700, 1, 1, 3_600_000
	l := market.Lease{}
	l.Lease.Status, l.EndReason = uint8(market.LeaseEnded), uint8(market.EndedByProvider)
	l.StartedAt, l.EndedAt, l.FundedUntil, l.Gpus, l.Lease.Price = 1_000, 1_100, 1_700, 1, 3_600_000
	return d, l
}

func TestWhatIsOrderedAgainIsWhatWasLeft(t *testing.T) {
	d, l := leaving()
	p, err := d.rest(&l)
	require.NoError(t, err)
	require.EqualValues(t, 600, p.Args.Duration)
	require.Equal(t, d.order, p.After)
	require.Empty(t, p.Name, "a name is for one order; this one has the name of that which it follows")
	require.WithinDuration(t, time.Now().Add(retryTime), p.RetryUntil, time.Minute)

	l.EndedAt = 1_650
	_, err = d.rest(&l)
	require.ErrorContains(t, err, "50 s are left")

	d, l = leaving()
	d.p.Backup, l.CheckpointHash = &messages.Backup{Bucket: "b"}, [32]byte{9}
	p, err = d.rest(&l)
	require.NoError(t, err)
	require.Equal(t, [32]byte{9}, p.Backup.From)
	require.Zero(t, d.p.Backup.From, "the record of the order before stays as it was")
	d.p.Kept = "volumes"
	p, err = d.rest(&l)
	require.NoError(t, err)
	require.Zero(t, p.Backup.From, "the bucket says what a volume that is kept begins with")
}

// All orders that follow one another cost no more than the budget of the first.
func TestOrdersThatFollowStayWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, l := leaving()
		d.p.UntilStopped = rapid.Bool().Draw(t, "until stopped")
		budget := rapid.Uint64Range(1, 2_000_000).Draw(t, "budget")
		d.p.Budget = budget
		served := rapid.Int64Range(0, 700).Draw(t, "served")
		l.EndedAt = l.StartedAt + served
		p, err := d.rest(&l)
		if err != nil {
			require.Less(t, p.Args.Duration, uint32(leastRetrySecs))
			return
		}
		cost, err := market.OrderCost(p.Args.MaxPrice, 1, market.HeldSecs(p.Args.Duration, d.mk.Params.StartDeadlineSecs), 1)
		require.NoError(t, err)
		spent, err := market.Cost(market.PricePerHour(l.Price), 1, l.BillableSecs(l.EndedAt))
		require.NoError(t, err)
		require.LessOrEqual(t, uint64(cost+spent), budget)
		if !d.p.UntilStopped {
			require.LessOrEqual(t, int64(p.Args.Duration)+served, int64(700))
		}
	})
}

func TestWhichLeasesAreOrderedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		status market.LeaseStatus
		reason market.EndReason
		may    uint8
		left   int64 // seconds that were not delivered
		job    messages.LeaseState
		again  bool
	}{
		"its machine has left":             {status: market.LeaseEnded, reason: market.EndedByProvider, job: messages.LeaseStopped, again: true},
		"its machine says nothing":         {status: market.LeaseEnded, reason: market.EndedByProvider, again: true},
		"its machine failed":               {status: market.LeaseEnded, reason: market.EndedFailed, again: true},
		"the job had ended":                {status: market.LeaseEnded, reason: market.EndedByProvider, job: messages.LeaseExited},
		"the job could not be started":     {status: market.LeaseEnded, reason: market.EndedByProvider, job: messages.LeaseBroken},
		"its customer stopped it":          {status: market.LeaseEnded, reason: market.EndedByCustomer, job: messages.LeaseStopped},
		"it runs":                          {status: market.LeaseRunning, job: messages.LeaseStopped},
		"keepers look for another machine": {status: market.LeaseFailed, may: 1, left: 60},
	} {
		l := market.Lease{}
		l.Lease.Status, l.EndReason, l.MayMigrate, l.FundedUntil = uint8(c.status), uint8(c.reason), c.may, c.left
		require.Equal(t, c.again, unfinished(&l, messages.LeaseStatus{State: c.job}), name)
	}
}

func TestTheNewestOrderOfAPurchase(t *testing.T) {
	first, second, third := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}
	all := []purchase.Purchase{
		{Order: third, After: second},
		{Order: solana.PublicKey{9}, After: second, Stage: purchase.Over}, // came to nothing
		{Order: second, After: first, Stage: purchase.Over, Bought: true},
		{Order: first, Name: "train", Stage: purchase.Over, Bought: true},
		{Order: solana.PublicKey{5}, Name: "other"},
	}
	require.Equal(t, third, newest(all, first))
	require.Equal(t, third, newest(all, third))
	require.Equal(t, solana.PublicKey{5}, newest(all, solana.PublicKey{5}))
	for i := range all[:4] {
		require.Equal(t, "train", purchase.NameOf(all, &all[i]))
	}
	require.ElementsMatch(t, []solana.PublicKey{third, {9}, second, first}, Named(all, "train"))
	require.Empty(t, purchase.NameOf(all, &purchase.Purchase{After: solana.PublicKey{77}}), "an order that is not in this folder")
}
