package market_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestVectorsFeeShares(t *testing.T) {
	for i, c := range vectors[struct {
		Pending     uint64
		AwardBps    uint16 `json:"award_bps"`
		TreasuryBps uint16 `json:"treasury_bps"`
		BurnBps     uint16 `json:"burn_bps"`
		Treasury    uint64
		BuyBack     uint64 `json:"buy_back"`
		Voters      uint64
	}](t, "fee_shares.json") {
		got, err := market.SplitFees(market.USDC(c.Pending), c.AwardBps, c.TreasuryBps, c.BurnBps)
		require.NoError(t, err, "case %d", i)
		want := market.FeeShares{
			Treasury: market.USDC(c.Treasury), BuyBack: market.USDC(c.BuyBack), Voters: market.USDC(c.Voters),
		}
		require.Equal(t, want, got, "case %d", i)
	}
}

func TestVectorsBuyBack(t *testing.T) {
	for i, c := range vectors[struct {
		BuyBack    uint64 `json:"buy_back"`
		Since, Now int64
		StakePrice uint64 `json:"stake_price"`
		Burned     *uint64
	}](t, "buy_back.json") {
		r := market.Rewards{}
		r.BuyBack, r.BuyBackSince = c.BuyBack, c.Since
		got, err := r.BuyBackCost(market.USDC(c.StakePrice), c.Now)
		equal(t, c.Burned, got, err, i)
	}
}

func TestVectorsEmission(t *testing.T) {
	for i, c := range vectors[struct {
		Earned       uint64
		EmissionDay  uint64 `json:"emission_day"`
		EmittedToday uint64 `json:"emitted_today"`
		Vault, Cap   uint64
		Now          int64
		Emitted      uint64
	}](t, "emission.json") {
		r, p := market.Rewards{}, market.Params{}
		r.EmissionDay, r.EmittedToday = c.EmissionDay, c.EmittedToday
		p.EmissionCap = c.Cap
		emitted := r.Emission(market.GNT(c.Earned), &p, market.GNT(c.Vault), c.Now)
		require.Equal(t, c.Emitted, uint64(emitted), "case %d", i)
	}
}

func TestVectorsVoteShare(t *testing.T) {
	for i, c := range vectors[struct {
		Reward, Left, Weight, Share uint64
		RewardWeight                uint64 `json:"reward_weight"`
	}](t, "vote_share.json") {
		r, k := market.Report{}, market.Keeper{}
		r.Reward, r.RewardLeft, r.RewardWeight = c.Reward, c.Left, c.RewardWeight
		r.CreatedAt, r.RewardVoters[0], k.Weight = 1, 1, c.Weight
		require.Equal(t, c.Share, uint64(r.Share(&k)), "case %d", i)
	}
}

func TestVectorsVerdict(t *testing.T) {
	names := map[string]market.Verdict{
		"upheld": market.VerdictUpheld, "rejected": market.VerdictRejected, "none": market.VerdictNone,
	}
	for i, c := range vectors[struct {
		TotalWeight    uint64 `json:"total_weight"`
		UpheldWeight   uint64 `json:"upheld_weight"`
		RejectedWeight uint64 `json:"rejected_weight"`
		QuorumBps      uint16 `json:"quorum_bps"`
		Verdict        string
	}](t, "verdict.json") {
		d := market.Dispute{}
		d.TotalWeight, d.UpheldWeight, d.RejectedWeight, d.QuorumBps = c.TotalWeight, c.UpheldWeight, c.RejectedWeight, c.QuorumBps
		want, known := names[c.Verdict]
		require.True(t, known, "case %d: %q", i, c.Verdict)
		require.Equal(t, want, d.Verdict(), "case %d", i)
	}
}

func TestVectorsDisputeDeposit(t *testing.T) {
	for i, c := range vectors[struct {
		Settled    uint64
		Cap        uint64
		Frozen     uint64
		StakePrice uint64 `json:"stake_price"`
		Secs       uint32
		Deposit    uint64
	}](t, "deposit.json") {
		got, err := market.DisputeDeposit(market.USDC(c.Settled), market.USDC(c.Cap), market.GNT(c.Frozen), c.StakePrice, c.Secs)
		require.NoError(t, err)
		require.Equal(t, market.USDC(c.Deposit), got, "case %d", i)
	}
}

func TestVectorsMigration(t *testing.T) {
	for i, c := range vectors[struct {
		Gpus         uint8
		StartedAt    int64  `json:"started_at"`
		FundedUntil  int64  `json:"funded_until"`
		EndedAt      int64  `json:"ended_at"`
		DowntimeSecs uint32 `json:"downtime_secs"`
		Price        uint64
		Undelivered  uint32
		Reserved     *uint64
	}](t, "migration.json") {
		l := market.Lease{}
		l.Gpus, l.StartedAt, l.FundedUntil, l.EndedAt, l.DowntimeSecs = c.Gpus, c.StartedAt, c.FundedUntil, c.EndedAt, c.DowntimeSecs
		require.Equal(t, c.Undelivered, l.UndeliveredSecs(), "case %d", i)
		got, err := market.Cost(market.PricePerHour(c.Price), c.Gpus, l.UndeliveredSecs())
		equal(t, c.Reserved, got, err, i)
	}
}

// Nothing is lost between those who share the fees.
func TestFeesAreSplitWithoutARest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pending := anySize(t, "pending")
		award := rapid.Uint16Max(9_999).Draw(t, "award")
		treasury := rapid.Uint16Max(10_000-award).Draw(t, "treasury")
		burn := rapid.Uint16Max(10_000-award-treasury).Draw(t, "burn")
		got, err := market.SplitFees(market.USDC(pending), award, treasury, burn)
		if err != nil {
			t.Fatal(err)
		}
		sum := new(big.Int)
		for _, part := range []market.USDC{got.Treasury, got.BuyBack, got.Voters} {
			sum.Add(sum, new(big.Int).SetUint64(uint64(part)))
		}
		if sum.Cmp(new(big.Int).SetUint64(pending)) != 0 {
			t.Fatalf("%+v of %d", got, pending)
		}
	})
}
