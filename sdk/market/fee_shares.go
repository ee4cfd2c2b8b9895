package market

import "math/big"

// FeeShares is where swept fees go.
type FeeShares struct {
	Treasury USDC
	BuyBack  USDC // for the accounts that burn stake tokens
	Voters   USDC // of a final report: the rest
}

// SplitFees splits the pending fees, from which the awarding keepers' share is already taken, in the proportions of the
// parameters, as in program/src/math/fees.rs. Error: ErrOverflow.
func SplitFees(pending USDC, awardBPS, treasuryBPS, burnBPS uint16) (FeeShares, error) {
	if awardBPS >= BPS {
		return FeeShares{}, ErrOverflow
	}
	whole := uint64(BPS - awardBPS)
	treasury, err := mulDiv(uint64(pending), uint64(treasuryBPS), whole)
	if err != nil {
		return FeeShares{}, err
	}
	buyBack, err := mulDiv(uint64(pending), uint64(burnBPS), whole)
	if err != nil {
		return FeeShares{}, err
	}
	if treasury > uint64(pending) || buyBack > uint64(pending)-treasury {
		return FeeShares{}, ErrOverflow
	}
	rest := uint64(pending) - treasury - buyBack
	return FeeShares{Treasury: USDC(treasury), BuyBack: USDC(buyBack), Voters: USDC(rest)}, nil
}

// Emission is what emission_claim at now would stake for a provider that paid these fees, and the fees that this uses
// up, as in program/src/instructions/rewards/emission_claim.rs; vault is what the emission vault holds. Error:
// ErrOverflow.
func (r *Rewards) Emission(feesPaid USDC, p *Params, vault GNT, now int64) (emitted GNT, turned USDC, err error) {
	part, err := Fee(feesPaid, p.EmissionBps)
	if err != nil {
		return 0, 0, err
	}
	wanted, err := HarmInStake(part, p.StakePrice)
	if err != nil {
		return 0, 0, err
	}
	room := GNT(p.EmissionCap)
	if now >= 0 && uint64(now)/secondsPerDay == r.EmissionDay {
		room -= min(room, GNT(r.EmittedToday))
	}
	if emitted = min(wanted, vault, room); emitted == 0 {
		return 0, 0, nil
	}
	fees := new(big.Int).Mul(new(big.Int).SetUint64(uint64(feesPaid)), new(big.Int).SetUint64(uint64(emitted)))
	whole := new(big.Int).SetUint64(uint64(wanted))
	fees.Add(fees, whole).Sub(fees, big.NewInt(1)).Div(fees, whole)
	return emitted, USDC(fees.Uint64()), nil
}
