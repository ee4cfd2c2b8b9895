package invariants

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Flows are the sums of everything that events say was moved, per token.
type Flows struct {
	// µUSDC: into credits, and out of them.
	Deposited, Withdrawn, PaidToProviders, Fees uint64
	// Of the fees: out of the vault in which they wait. Deposits of rejected disputes, the time of machines that declined and work whose
	// output lost count among them.
	ToTreasury, ToKeepers, ToBuyers uint64
	// Of the fees, what awards have earned keepers, and what of that they have claimed.
	Awards, AwardsClaimed uint64
	// Base units of GNT: into stakes and bonds, and out of them.
	Staked, Bonded, StakeWithdrawn, BondWithdrawn uint64
	// Of what was slashed; customers' and finders' parts wait in payouts before they are paid out.
	ToCustomers, ToFinders, Burned, Slashed uint64
	PaidOut                                 uint64
	// Burned by the accounts that bought fees back, and paid into stakes by emission.
	BoughtBack, Emitted uint64
}

// Flows adds up the history's events.
func (h History) Flows() Flows {
	var f Flows
	for _, t := range h.Transactions {
		for _, event := range t.Events {
			switch e := event.(type) {
			case *bindings.CreditsDeposited:
				f.Deposited += e.Amount
			case *bindings.CreditsWithdrawn:
				f.Withdrawn += e.Amount
			case *bindings.LeaseSettled:
				f.PaidToProviders += e.ProviderAmount
			case *bindings.LeaseClosed:
				f.Fees += e.Fee + e.Lost
				f.Awards += e.Award
			case *bindings.LeaseDeclined:
				f.Fees += e.Charged
			case *bindings.StakeAdded:
				f.Staked += e.Amount
			case *bindings.KeeperRegistered:
				f.Bonded += e.Bond
			case *bindings.StakeWithdrawn:
				f.StakeWithdrawn += e.Amount
			case *bindings.KeeperWithdrawn:
				f.BondWithdrawn += e.Amount
			case *bindings.DisputeResolved:
				f.Fees += e.ToBuyBack
				f.PaidToProviders += e.ToProvider
			case *bindings.RewardsAccrued:
				f.ToTreasury += e.Treasury
			case *bindings.RewardsClaimed:
				f.ToKeepers += e.ByAwards + e.ByVote
				f.AwardsClaimed += e.ByAwards
			case *bindings.BoughtBack:
				f.ToBuyers += e.Paid
				f.BoughtBack += e.Burned
			case *bindings.Emitted:
				f.Emitted += e.Amount
			case *bindings.EquivocationProven:
				f.slash(e.Amount, 0, e.FinderShare, e.Burned)
			case *bindings.UnjustAwardProven:
				f.slash(e.Amount, 0, e.FinderShare, e.Burned)
			case *bindings.NodeDied:
				f.slash(e.Amount, 0, 0, e.Amount)
			case *bindings.PayoutClaimed:
				f.PaidOut += e.Amount
			case *bindings.SlashApplied:
				f.slash(e.Amount, e.Pool, e.Finder, e.Burned)
			case *bindings.SlashClosed:
				f.ToCustomers -= e.Burned // what was not claimed
				f.Burned += e.Burned
			case *bindings.OutputForfeited:
				f.slash(e.Amount, 0, 0, e.Amount)
			}
		}
	}
	return f
}

// slash adds one slash.
func (f *Flows) slash(amount, customer, finder, burned uint64) {
	f.Slashed += amount
	f.ToCustomers += customer
	f.ToFinders += finder
	f.Burned += burned
}

// Conservation is invariant 2 over time: what went in is what came out and what is still in vaults, per token; and 3:
// what was slashed went to customers and finders or was burned. burned is by how much the stake mint's supply fell.
// What customers take with them when they close their credits counts as still in vaults of nobody, so takenAtClose is
// given by the caller (0 when they withdrew first).
func (f Flows) Conservation(s Snapshot, burned, takenAtClose uint64) []Violation {
	var found violations
	var credits, stakes uint64
	for _, c := range s.Credits {
		credits += s.Tokens[market.CreditsVaultAddress(c.Address)].Amount
	}
	for key := range s.Providers {
		stakes += s.Tokens[market.StakeVaultAddress(key)].Amount
	}
	for _, k := range s.Keepers {
		stakes += s.Tokens[market.StakeVaultAddress(k.Address)].Amount
	}
	if in, out := f.Deposited, f.Withdrawn+f.PaidToProviders+f.Fees+credits+takenAtClose; in != out {
		found.add(2, "%d µUSDC were deposited, %d are accounted for", in, out)
	}
	if in, out := f.Staked+f.Bonded+f.Emitted, f.StakeWithdrawn+f.BondWithdrawn+f.Slashed+stakes; in != out {
		found.add(2, "%d units of GNT were staked and bonded, %d are accounted for", in, out)
	}
	if f.Slashed != f.ToCustomers+f.ToFinders+f.Burned {
		found.add(3, "%d units of GNT were slashed, %d were given away or burned", f.Slashed, f.ToCustomers+f.ToFinders+f.Burned)
	}
	if out := f.Burned + f.BoughtBack; burned != out {
		found.add(3, "events burned %d units of GNT, the supply fell by %d", out, burned)
	}
	if waiting, vault := f.ToCustomers+f.ToFinders-f.PaidOut, s.Tokens[market.PayoutVaultAddress()].Amount; waiting != vault {
		found.add(3, "%d units of GNT wait to be paid out, the payout vault holds %d", waiting, vault)
	}
	if s.Rewards != nil && f.Awards-f.AwardsClaimed != s.Rewards.Earned {
		found.add(2, "awards have earned %d µUSDC of which %d are claimed, %d are kept for them", f.Awards, f.AwardsClaimed, s.Rewards.Earned)
	}
	if s.Market != nil {
		left := f.Fees - f.ToTreasury - f.ToKeepers - f.ToBuyers
		if vault := s.Tokens[s.Market.FeeVault].Amount; vault != left {
			found.add(2, "%d µUSDC of fees were swept and not paid on, the fee vault holds %d", left, vault)
		}
	}
	return found
}

// RentViolations is invariant 8: apart from fees and direct transfers, no wallet has gained or lost lamports, so every
// account's rent went back to who had paid it. before and after are the wallets' lamports around the history.
func (h History) RentViolations(before, after map[solana.PublicKey]chain.Lamports, names map[solana.PublicKey]string) []Violation {
	expected := map[solana.PublicKey]int64{}
	for _, t := range h.Transactions {
		expected[t.Payer] -= int64(t.Fee)
		for _, m := range t.Moves {
			expected[m.From] -= int64(m.Lamports)
			expected[m.To] += int64(m.Lamports)
		}
	}
	var found violations
	for key, was := range before {
		if change := int64(after[key]) - int64(was); change != expected[key] {
			found.add(8, "%s changed by %d lamports, fees and transfers explain %d (difference %d)",
				names[key], change, expected[key], change-expected[key])
		}
	}
	return found
}
