package market_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// anySize draws numbers of every magnitude with equal chance: small ones and edges matter as much as large ones.
func anySize(t *rapid.T, name string) uint64 {
	switch rapid.IntRange(0, 15).Draw(t, name+" kind") {
	case 0:
		return 0
	case 1:
		return math.MaxUint64
	}
	return rapid.Uint64().Draw(t, name) >> rapid.IntRange(0, 63).Draw(t, name+" shift")
}

// exact is a × b / d in integers without bounds; false where it does not fit 64 bits.
func exact(a, b, d uint64) (uint64, bool) {
	product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
	product.Div(product, new(big.Int).SetUint64(d))
	return product.Uint64(), product.IsUint64()
}

// Splitting a time never makes it dearer, and what rounding takes is less than one unit a part.
func TestCostIsExactAndNeverGainsByBeingSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price, gpus := anySize(t, "price"), rapid.Uint8Range(1, 8).Draw(t, "gpus")
		a, b := rapid.Uint32Max(1<<30).Draw(t, "a"), rapid.Uint32Max(1<<30).Draw(t, "b")
		whole, err := market.Cost(market.PricePerHour(price), gpus, a+b)
		seconds := uint64(gpus) * uint64(a+b)
		if want, fits := exact(price, seconds, 3_600); fits != (err == nil) || fits && want != uint64(whole) {
			t.Fatalf("%d, %v; want %d, %v", whole, err, want, fits)
		}
		if err != nil {
			return
		}
		first, errA := market.Cost(market.PricePerHour(price), gpus, a)
		second, errB := market.Cost(market.PricePerHour(price), gpus, b)
		if errA != nil || errB != nil || first+second > whole || whole-first-second > 1 {
			t.Fatalf("%d + %d of %d", first, second, whole)
		}
	})
}

func TestAFeeIsAShareAndASplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount, harm := anySize(t, "amount"), anySize(t, "harm")
		bps := rapid.Uint16Max(10_000).Draw(t, "bps")
		fee, err := market.Share(amount, bps)
		if want, _ := exact(amount, uint64(bps), 10_000); err != nil || fee != want || fee > amount {
			t.Fatalf("%d of %d, %v", fee, amount, err)
		}
		split, err := market.SplitSlash(market.GNT(amount), bps)
		if err != nil {
			t.Fatal(err)
		}
		claimed := split.Claimed(market.GNT(harm))
		switch {
		case uint64(split.Burned) != amount-amount/2:
			t.Fatalf("half is burned: %+v", split)
		case uint64(split.Finder) != min(fee, amount/2):
			t.Fatalf("the finder gets its share of what is left: %+v", split)
		case uint64(split.Pool+split.Finder+split.Burned) != amount || claimed.Pool+claimed.Finder+claimed.Burned != market.GNT(amount):
			t.Fatalf("nothing is lost: %+v of %d", split, amount)
		case claimed.Pool != min(split.Pool, market.GNT(harm)):
			t.Fatalf("victims get their harm at most: %+v", claimed)
		}
	})
}

func TestHarmIsTurnedIntoStakeExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		harm, price := anySize(t, "harm"), max(1, anySize(t, "price"))
		got, err := market.HarmInStake(market.USDC(harm), price)
		want, fits := exact(harm, 1_000_000_000, price)
		if fits != (err == nil) || fits && want != uint64(got) {
			t.Fatalf("%d, %v; want %d, %v", got, err, want, fits)
		}
	})
}

func TestAGuaranteeIsKeptByItsShareAndNoLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counted, guarantee := anySize(t, "counted"), rapid.Uint16Range(9_000, 10_000).Draw(t, "guarantee")
		up := min(anySize(t, "up"), counted)
		want := new(big.Int).Mul(new(big.Int).SetUint64(up), big.NewInt(market.BPS)).
			Cmp(new(big.Int).Mul(new(big.Int).SetUint64(counted), big.NewInt(int64(guarantee)))) >= 0
		if got := market.GuaranteeKept(up, counted, guarantee); got != want {
			t.Fatalf("%d of %d, %d: %v", up, counted, guarantee, got)
		}
	})
}

func TestABetterReputationOrGuaranteeNeverScoresWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := market.PricePerHour(anySize(t, "price") >> 1)
		low, high := rapid.Uint16Max(10_000).Draw(t, "a"), rapid.Uint16Max(10_000).Draw(t, "b")
		low, high = min(low, high), max(low, high)
		few, many := rapid.Uint16Max(10_000).Draw(t, "c"), rapid.Uint16Max(10_000).Draw(t, "d")
		few, many = min(few, many), max(few, many)
		worse, errLow := market.Score(price, low, few)
		better, errHigh := market.Score(price, high, many)
		if errLow == nil && (errHigh != nil || better > worse || better < uint64(price)/20*19) {
			t.Fatalf("%d at %d and %d, %d at %d and %d", worse, low, few, better, high, many)
		}
	})
}

func TestReputationKeepsItsBoundsAndItsDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.Uint64Range(1, 1<<50).Draw(t, "weight")
		record := market.ReputationInputs{
			UptimeBPS:     rapid.Uint16Max(10_000).Draw(t, "uptime"),
			FeesCompleted: rapid.Uint64Max(math.MaxUint64-1).Draw(t, "completed"),
			FeesFailed:    rapid.Uint64Max(math.MaxUint64-1).Draw(t, "failed"),
			RatingSum:     weight * rapid.Uint64Range(1, 5).Draw(t, "stars"),
			RatingWeight:  weight,
			Days:          rapid.Uint8().Draw(t, "days"),
			DisputeBPS:    rapid.Uint16Max(10_000).Draw(t, "disputes"),
			DisputeLostAt: rapid.Int64Range(0, 1<<40).Draw(t, "since"),
		}
		now := rapid.Int64Range(0, 1<<41).Draw(t, "now")
		before := market.Reputation(record, now)
		done, failed, praised, up := record, record, record, record
		up.Days = max(up.Days, up.Days+1)
		done.FeesCompleted++
		failed.FeesFailed++
		praised.RatingSum += 5
		praised.RatingWeight++
		switch {
		case before > 10_000:
			t.Fatalf("%d of 10,000", before)
		case market.Reputation(done, now) < before:
			t.Fatal("a completed job hurts")
		case market.Reputation(failed, now) > before:
			t.Fatal("a failed job helps")
		case market.Reputation(praised, now) < before:
			t.Fatal("five stars hurt")
		case market.Reputation(record, now+1) < before:
			t.Fatal("time hurts")
		case market.Reputation(up, now) < before:
			t.Fatal("a day up hurts")
		}
	})
}

func TestUptimeMovesTowardsItsSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, period := rapid.Uint16Max(10_000).Draw(t, "old"), rapid.Uint32Range(1, 86_400).Draw(t, "period")
		up := rapid.Uint32Max(period).Draw(t, "up")
		sample := uint16(uint64(up) * 10_000 / uint64(period))
		next := market.NextUptimeBPS(old, up, period)
		if next > max(old, sample) || next+1 < min(old, sample) {
			t.Fatalf("from %d by %d to %d", old, sample, next)
		}
	})
}

func TestPeriodsTileTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, length := rapid.Int64Range(0, 1<<40).Draw(t, "now"), rapid.Uint32Range(1, 1<<20).Draw(t, "length")
		period, err := market.PeriodOf(now, length)
		if err != nil {
			t.Fatal(err)
		}
		end, err := market.PeriodEnd(period, length)
		if err != nil || now >= end || now < end-int64(length) {
			t.Fatalf("%d in period %d that ends at %d, %v", now, period, end, err)
		}
	})
}

// A leaf is new for a node until it was applied, within the last 32 periods.
func TestVectorsWindow(t *testing.T) {
	for i, c := range vectors[struct {
		Last, Period uint64
		Window       uint32
		Fresh        bool
	}](t, "window.json") {
		node := market.Node{}
		node.LastReportPeriod, node.ReportWindow = c.Last, c.Window
		fresh, _, _ := market.LeafNews(&records.Leaf{Period: records.Period(c.Period)}, &node, nil, &market.Params{PeriodSecs: 3_600})
		require.Equal(t, c.Fresh, fresh, "case %d", i)
	}
}

func TestVectorsSettlement(t *testing.T) {
	for i, c := range vectors[struct {
		Price        uint64
		Gpus         uint8
		FeeBps       uint16 `json:"fee_bps"`
		StartedAt    int64  `json:"started_at"`
		FundedUntil  int64  `json:"funded_until"`
		EndedAt      int64  `json:"ended_at"`
		ReceiptSecs  uint32 `json:"receipt_secs"`
		VerifiedSecs uint32 `json:"verified_secs"`
		DowntimeSecs uint32 `json:"downtime_secs"`
		PaidSecs     uint32 `json:"paid_secs"`
		Now          int64
		Billable     uint32
		Unsettled    uint32
		Paid         *uint64
		Fee          *uint64
		Provider     *uint64
	}](t, "settlement.json") {
		lease := market.Lease{}
		lease.Price, lease.Gpus, lease.FeeBps = c.Price, c.Gpus, c.FeeBps
		lease.StartedAt, lease.FundedUntil, lease.EndedAt = c.StartedAt, c.FundedUntil, c.EndedAt
		lease.ReceiptSecs, lease.VerifiedSecs, lease.DowntimeSecs = c.ReceiptSecs, c.VerifiedSecs, c.DowntimeSecs
		lease.PaidSecs = c.PaidSecs
		require.Equal(t, c.Billable, lease.BillableSecs(c.Now), "case %d", i)
		require.Equal(t, c.Unsettled, lease.UnsettledSecs(c.Now), "case %d", i)
		paid, err := lease.Owed(c.PaidSecs)
		equal(t, c.Paid, paid, err, i)
		if c.Paid == nil {
			continue
		}
		lease.Paid = *c.Paid
		require.Equal(t, *c.Fee, uint64(lease.FeeTotal()), "case %d", i)
		require.Equal(t, *c.Provider, uint64(lease.ProviderTotal()), "case %d", i)
	}
}
