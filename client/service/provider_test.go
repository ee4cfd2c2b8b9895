package service

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// What a lease has brought: settled, claimed by reports, and served by the clock; each second once, the fee taken off.
func TestEarnedOf(t *testing.T) {
	var l market.Lease
	l.Price, l.Gpus, l.FeeBps = 3_600_000, 1, 1_000 // 1,000 µUSDC a second, of which 900 are the provider's
	l.StartedAt, l.FundedUntil = 1_000, 2_000
	l.PaidSecs, l.Paid, l.VerifiedSecs = 60, 60_000, 100
	require.Equal(t, earned{54_000, 36_000, 45_000}, earnedOf(&l, 1_150))
	l.DowntimeSecs = 50 // nothing more can be owed
	require.Equal(t, earned{54_000, 36_000, 0}, earnedOf(&l, 1_150))
	l.Output = uint8(market.OutputWanted)
	require.Equal(t, earned{54_000, 0, 0}, earnedOf(&l, 1_150), "outputs that are not compared are paid nothing")
	require.Equal(t, earned{}, earnedOf(&market.Lease{}, 1_150))
}

// Periods without a report are named between those that have one, and payments are added up by day.
func TestRecord(t *testing.T) {
	leaf := func(p records.Period, passed, total uint16, f records.Flags) audit.NodePeriod {
		return audit.NodePeriod{Leaf: records.Leaf{Period: p, ChecksPassed: passed, ChecksTotal: total, Flags: f, Operations: 2_000}, Time: time.Unix(int64(p), 0)}
	}
	got := checksOf([]audit.NodePeriod{leaf(9, 3, 5, records.FlagOffline), leaf(7, 4, 4, 0)})
	require.Len(t, got, 3)
	require.EqualValues(t, 2, got[0].Failed)
	require.Equal(t, []string{"offline"}, got[0].Flags)
	require.NotEmpty(t, got[0].Advice)
	require.Equal(t, market.ReportAddress(9).String(), got[0].Report)
	require.True(t, got[1].Undecided)
	require.EqualValues(t, 8, got[1].Period)
	require.False(t, got[2].Undecided)
	require.Equal(t, "2.000", got[2].TOPS)
	require.Equal(t, []PeriodChecks{}, checksOf(nil))

	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, b := solana.PublicKey{1}, solana.PublicKey{2}
	require.Equal(t, []Day{{"2026-03-01", "0.300000", 2}, {"2026-02-28", "0.500000", 1}}, daysOf([]audit.Payment{
		{Lease: a, Amount: 100_000, Time: day},
		{Lease: b, Amount: 150_000, Time: day},
		{Lease: a, Amount: 50_000, Time: day.Add(-time.Hour)},
		{Lease: a, Amount: 500_000, Time: day.Add(-13 * time.Hour)},
	}))
	require.Equal(t, []Day{}, daysOf(nil))
}

// The time to start is the median over leases that have started.
func TestStartsOf(t *testing.T) {
	lease := func(awarded, started int64) (l market.Lease) {
		l.AwardedAt, l.StartedAt = awarded, started
		return l
	}
	got := startsOf([]market.Lease{lease(10, 15), lease(10, 0), lease(10, 100), lease(10, 12)})
	require.Equal(t, 3, got.Leases)
	require.EqualValues(t, 5, *got.Median)
	require.Nil(t, startsOf(nil).Median)
}
