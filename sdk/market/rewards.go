package market

import "math/big"

// Shares of the governance price that a buy-back offers for a stake token: at its start, and from a day later on.
const (
	buyBackFirstBPS = 5_000
	buyBackLastBPS  = 20_000
	secondsPerDay   = 86_400
)

// BuyBackCost is what must be burned at now for all that waits for a buy-back, rounded up, as in
// program/src/state/rewards.rs. Error: ErrOverflow.
func (r *Rewards) BuyBackCost(stakePrice USDC, now int64) (GNT, error) {
	elapsed := min(max(now-r.BuyBackSince, 0), secondsPerDay)
	bps := buyBackFirstBPS + (buyBackLastBPS-buyBackFirstBPS)*elapsed/secondsPerDay
	price := new(big.Int).Mul(new(big.Int).SetUint64(uint64(stakePrice)), big.NewInt(bps))
	wanted := new(big.Int).SetUint64(r.BuyBack)
	wanted.Mul(wanted, big.NewInt(int64(OneGNT))).Mul(wanted, big.NewInt(10_000))
	if price.Sign() == 0 {
		return 0, ErrOverflow
	}
	wanted.Add(wanted, price).Sub(wanted, big.NewInt(1)).Div(wanted, price)
	if !wanted.IsUint64() {
		return 0, ErrOverflow
	}
	return GNT(wanted.Uint64()), nil
}

// Share is what the keeper gets of the report's reward, as in program/src/state/report.rs; 0 when it did not vote for
// the root, has claimed, or became active when the report was made or since: then it is not the keeper that voted.
func (r *Report) Share(k *Keeper) USDC {
	if !Has(r.RewardVoters, k.Index) || k.ActiveSince >= r.CreatedAt || r.Reward == 0 || r.RewardWeight == 0 {
		return 0
	}
	share := new(big.Int).Mul(new(big.Int).SetUint64(r.Reward), new(big.Int).SetUint64(k.Weight))
	share.Div(share, new(big.Int).SetUint64(r.RewardWeight))
	if !share.IsUint64() {
		return USDC(r.RewardLeft)
	}
	return USDC(min(share.Uint64(), r.RewardLeft))
}
