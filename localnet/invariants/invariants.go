package invariants

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// Violation is one way in which an invariant does not hold. Numbers are those of the protocol's list.
type Violation struct {
	Invariant int
	What      string
}

func (v Violation) String() string { return fmt.Sprintf("invariant %d: %s", v.Invariant, v.What) }

// Statuses that the checks need, as in the program's state.
const (
	leaseAwarded = 1
	leaseRunning = 2
	leaseFailed  = 3
	reportFinal  = 2
	keeperActive = 2
	nodeRetired  = 4
)

// Checker checks snapshots one after the other; it remembers what may only grow. Its methods may be called from several
// goroutines.
type Checker struct {
	mu     sync.Mutex
	paid   map[solana.PublicKey]paidMark
	checks int
}

// paidMark is what a lease had been paid for when it was last seen. The start tells two leases of one address apart.
type paidMark struct {
	started int64
	secs    uint32
}

// NewChecker returns a checker that has seen nothing.
func NewChecker() *Checker { return &Checker{paid: map[solana.PublicKey]paidMark{}} }

// Checks is the number of snapshots checked so far.
func (c *Checker) Checks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks
}

// Check returns every violation of invariants 1 to 6 that the snapshot shows. Invariant 2 over time is History's, 7 and
// 8 are shown by what a scenario does.
func (c *Checker) Check(s Snapshot) []Violation {
	var found violations
	found.credits(s)
	found.supply(s)
	found.stakes(s)
	found.gpus(s)
	found.reports(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	for key, l := range s.Leases {
		found.leaseTime(l, s.Now.Unix())
		last := c.paid[key]
		if last.started == l.StartedAt && l.PaidSecs < last.secs {
			found.add(5, "lease %s was paid for %d s, now only for %d s", key, last.secs, l.PaidSecs)
		}
		c.paid[key] = paidMark{started: l.StartedAt, secs: l.PaidSecs}
	}
	slices.SortFunc(found, func(a, b Violation) int {
		if a.Invariant != b.Invariant {
			return a.Invariant - b.Invariant
		}
		return strings.Compare(a.What, b.What)
	})
	return found
}

type violations []Violation

func (v *violations) add(invariant int, format string, args ...any) {
	*v = append(*v, Violation{Invariant: invariant, What: fmt.Sprintf(format, args...)})
}

// credits is invariant 1: the vault holds the balance, the balance covers what is reserved, and what is reserved is
// exactly what the customer's open orders and unpaid leases hold.
func (v *violations) credits(s Snapshot) {
	held := map[solana.PublicKey]uint64{}
	orders, leases := map[solana.PublicKey]uint32{}, map[solana.PublicKey]uint32{}
	for _, o := range s.Orders {
		held[o.Customer] += o.Reserved
		orders[o.Customer]++
	}
	for _, l := range s.Leases {
		held[l.Customer] += l.Reserved
		leases[l.Customer]++
	}
	for _, d := range s.Disputes {
		held[d.Customer] += d.Deposit
	}
	if r := s.Rewards; r != nil {
		vault, held := s.Tokens[market.FeeVaultAddress()].Amount, r.Pending+r.Earned+r.Allocated+r.BuyBack
		if vault != held {
			v.add(1, "fees of %d are accounted for, their vault holds %d", held, vault)
		}
	}
	for _, c := range s.Credits {
		key := c.Address
		if vault := s.Tokens[market.CreditsVaultAddress(key)].Amount; vault != c.Balance {
			v.add(1, "credits %s say %d, their vault holds %d", key, c.Balance, vault)
		}
		if c.Balance < c.Reserved {
			v.add(1, "credits %s reserve %d of %d", key, c.Reserved, c.Balance)
		}
		if held[c.Customer] != c.Reserved {
			v.add(1, "credits %s reserve %d, their orders and leases hold %d", key, c.Reserved, held[c.Customer])
		}
		if orders[c.Customer] != c.LiveOrders || leases[c.Customer] != c.LiveLeases {
			v.add(1, "credits %s count %d orders and %d leases, there are %d and %d",
				key, c.LiveOrders, c.LiveLeases, orders[c.Customer], leases[c.Customer])
		}
		delete(held, c.Customer)
	}
	for customer, amount := range held {
		if amount > 0 {
			v.add(1, "orders and leases of %s hold %d, but there are no credits", customer, amount)
		}
	}
}

// supply is invariant 2 at one moment: every token that a mint says exists is in an account.
func (v *violations) supply(s Snapshot) {
	sums := map[solana.PublicKey]uint64{}
	for _, t := range s.Tokens {
		sums[t.Mint] += t.Amount
	}
	for mint, supply := range s.Supply {
		if sums[mint] != supply {
			v.add(2, "mint %s has a supply of %d, its accounts hold %d", mint, supply, sums[mint])
		}
	}
}

// stakes is invariant 3: vaults hold stake, stake on its way out, and bonds, and cover what registered nodes need.
func (v *violations) stakes(s Snapshot) {
	committed, faults := map[solana.PublicKey]uint64{}, map[solana.PublicKey]uint32{}
	for _, n := range s.Nodes {
		committed[n.Provider] += n.Stake
	}
	for _, f := range s.Faults {
		if f.ClaimsUntil == 0 { // else it was applied
			faults[f.Provider]++
		}
	}
	for key, p := range s.Providers {
		if vault := s.Tokens[market.StakeVaultAddress(key)].Amount; vault != p.Stake+p.Unstaking {
			v.add(3, "provider %s has %d staked and %d unstaking, its vault holds %d", key, p.Stake, p.Unstaking, vault)
		}
		if committed[key] != p.LockedStake {
			v.add(3, "provider %s says that its nodes have %d, they have %d", key, p.LockedStake, committed[key])
		}
		if faults[key] != p.PendingFaults {
			v.add(3, "provider %s counts %d faults, there are %d", key, p.PendingFaults, faults[key])
		}
	}
	if r := s.Rewards; r != nil {
		var owed uint64
		for _, p := range s.Payouts {
			owed += p.Amount
		}
		for _, f := range s.Faults {
			owed += f.PoolLeft // waits for claims
		}
		if vault := s.Tokens[market.PayoutVaultAddress()].Amount; vault != r.Payouts || owed != r.Payouts {
			v.add(3, "payouts of %d are accounted for, there are %d, their vault holds %d", r.Payouts, owed, vault)
		}
	}
	var weight uint64
	for _, k := range s.Keepers {
		key := k.Address
		if vault := s.Tokens[market.StakeVaultAddress(key)].Amount; vault != k.Bond {
			v.add(3, "keeper %s has a bond of %d, its vault holds %d", key, k.Bond, vault)
		}
		if k.Status == keeperActive {
			weight += k.Weight
		}
	}
	if s.Market != nil && weight != s.Market.TotalWeight {
		v.add(6, "active keepers weigh %d, the market says %d", weight, s.Market.TotalWeight)
	}
}

// gpus is invariant 4: a GPU is in exactly one live lease, a device belongs to exactly one node.
func (v *violations) gpus(s Snapshot) {
	masks := map[solana.PublicKey]uint16{}
	for key, l := range s.Leases {
		if l.Status < leaseAwarded || l.Status > leaseFailed {
			continue // over: its GPUs are free
		}
		if masks[l.Node]&l.GpuMask != 0 {
			v.add(4, "lease %s shares GPUs %b of node %s with another", key, masks[l.Node]&l.GpuMask, l.Node)
		}
		if bits.OnesCount16(l.GpuMask) != int(l.Gpus) {
			v.add(4, "lease %s has %d GPUs and mask %b", key, l.Gpus, l.GpuMask)
		}
		masks[l.Node] |= l.GpuMask
	}
	claims := map[solana.PublicKey]int{}
	for _, d := range s.Devices {
		claims[d.Node]++
		if s.Nodes[d.Node] == nil {
			v.add(4, "device %s belongs to node %s, which is not there", d.Address, d.Node)
		}
	}
	for key, n := range s.Nodes {
		if n.GpuMask != masks[key] {
			v.add(4, "node %s says that GPUs %b are leased, its leases hold %b", key, n.GpuMask, masks[key])
		}
		if n.Status == nodeRetired && n.GpuMask != 0 {
			v.add(4, "node %s is retired with GPUs %b leased", key, n.GpuMask)
		}
		if claims[key] != int(n.Spec.Gpus) {
			v.add(4, "node %s has %d GPUs and %d device claims", key, n.Spec.Gpus, claims[key])
		}
	}
}

// leaseTime is invariant 5: nobody is paid for time that has not passed, that was not funded, or that was lost.
func (v *violations) leaseTime(l *market.Lease, now int64) {
	var most int64
	if l.StartedAt != 0 {
		until := min(now, l.FundedUntil)
		if l.EndedAt != 0 {
			until = min(until, l.EndedAt)
		}
		most = max(0, until-l.StartedAt-int64(l.DowntimeSecs))
	}
	if int64(l.PaidSecs) > most {
		v.add(5, "lease %s is paid for %d s of at most %d s", l.Address, l.PaidSecs, most)
	}
	if owed, err := l.Owed(l.PaidSecs); err != nil || uint64(owed) != l.Paid {
		v.add(5, "lease %s has paid %d for %d s, which cost %d", l.Address, l.Paid, l.PaidSecs, owed)
	}
	fee := l.Paid * uint64(l.FeeBps) / market.BPS
	if l.Reserved < fee {
		v.add(5, "lease %s holds %d, its fee is %d", l.Address, l.Reserved, fee)
	}
}

// reports is invariant 6: votes never weigh more than the bonds behind them, and nobody votes twice.
func (v *violations) reports(s Snapshot) {
	for period, r := range s.Reports {
		var sum uint64
		lightest := slices.MinFunc(r.Candidates[:], func(a, b bindings.Candidate) int { return cmp.Compare(a.Weight, b.Weight) }).Weight
		var seen [32]uint8
		for _, c := range r.Roots() {
			sum += c.Weight
			for i := range c.Voters {
				if seen[i]&c.Voters[i] != 0 {
					v.add(6, "report of period %d: a keeper voted twice", period)
				}
				seen[i] |= c.Voters[i]
			}
		}
		for _, c := range r.Tail {
			if c.Weight > lightest {
				v.add(6, "report of period %d: a root of %d stands behind one of %d", period, c.Weight, lightest)
			}
		}
		if sum > r.TotalWeight {
			v.add(6, "report of period %d: votes weigh %d of %d", period, sum, r.TotalWeight)
		}
		if seen != r.Voters {
			v.add(6, "report of period %d: the voters are not those of its roots", period)
		}
		if r.Status == reportFinal && sum*market.BPS < r.TotalWeight*uint64(s.quorum()) {
			v.add(6, "report of period %d is final with %d of %d", period, sum, r.TotalWeight)
		}
	}
}

func (s *Snapshot) quorum() uint16 {
	if s.Market == nil {
		return 0
	}
	return s.Market.Params.QuorumBps
}
