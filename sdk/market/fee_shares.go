package market

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

// Emission is what emission_claim at now would stake of what a provider has earned, as in
// program/src/instructions/rewards/emission_claim.rs; vault is what the emission vault holds.
func (r *Rewards) Emission(earned GNT, p *Params, vault GNT, now int64) GNT {
	room := GNT(p.EmissionCap)
	if now >= 0 && uint64(now)/secondsPerDay == r.EmissionDay {
		room -= min(room, GNT(r.EmittedToday))
	}
	return min(earned, vault, room)
}
