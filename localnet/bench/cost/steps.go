package cost

import (
	"crypto/ed25519"
	"encoding/binary"
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// key is the address of a thing with a number.
func key(kind byte, number int) (k solana.PublicKey) {
	k[0] = kind
	binary.BigEndian.PutUint32(k[1:], uint32(number)+1)
	return k
}

// one makes a builder of one instruction into one of several.
func one(f func(number int) (solana.Instruction, error)) func(int) ([]solana.Instruction, error) {
	return func(number int) ([]solana.Instruction, error) {
		i, err := f(number)
		return []solana.Instruction{i}, err
	}
}

// lease is one of its own customer, provider and node.
func lease(number int) market.Lease {
	l := market.Lease{Meta: market.Meta{Address: key('l', number)}}
	l.Order, l.Customer, l.Node, l.NodeKey = key('o', number), key('c', number), key('n', number), key('k', number)
	l.Provider, l.RentPayer, l.Lease.Keeper = key('p', number), payer, payer
	return l
}

// Depth is how many hashes lead from a leaf to the root of a report of so many leaves.
func Depth(leaves int) int { return bits.Len(uint(max(leaves, 1) - 1)) }

// leafProof is a leaf about a machine and its lease in a report of so many leaves.
func leafProof(number, leaves int) ix.LeafProof {
	return ix.LeafProof{
		Leaf:     records.Leaf{Node: key('n', number), Period: 7, Lease: key('l', number)},
		Siblings: make([]records.Hash, Depth(leaves)),
	}
}

// leaf applies a leaf of a report of so many.
func (m Market) leaf(leaves int) Step {
	return Step{"report_apply", m.leafUnits("report_apply", leaves), one(func(n int) (solana.Instruction, error) {
		return ix.ReportApply(leafProof(n, leaves))
	})}
}

// fault opens the fault of a leaf's machine.
func (m Market) fault(leaves int) Step {
	return Step{"fault_open", m.leafUnits("fault_open", leaves), one(func(n int) (solana.Instruction, error) {
		node := market.Node{Meta: market.Meta{Address: key('n', n)}}
		node.Node.Provider = key('p', n)
		return ix.FaultOpen(ix.FaultOpenArgs{Payer: payer, Node: node, OfNode: true, Proof: leafProof(n, leaves)})
	})}
}

// leafUnits are those of a proof as long as the report asks for. The measured one is of 40,000 leaves.
func (m Market) leafUnits(name string, leaves int) uint64 {
	const measured = 40_000
	return uint64(int(m.Bench.Units[name]) + (Depth(leaves)-Depth(measured))*m.Assumed.HashUnits)
}

// settleByReport pays for the seconds that a report has verified.
func (b Bench) settleByReport() Step {
	return Step{"lease_settle_report", b.Units["lease_settle_report"], one(func(n int) (solana.Instruction, error) {
		return ix.LeaseSettleReport(ix.LeaseSettleReportArgs{Lease: lease(n), Payout: key('t', n)})
	})}
}

// settleByReceipt pays for the seconds for which node and customer signed. The receipt's signatures are real: the builder checks them.
func (b Bench) settleByReceipt() Step {
	return Step{"lease_settle_receipt", b.Units["lease_settle_receipt"], func(n int) ([]solana.Instruction, error) {
		node, customer := private(byte(2*n+1)), private(byte(2*n+2))
		l := lease(n)
		l.NodeKey, l.Customer = node.PublicKey(), customer.PublicKey()
		r := market.LeaseReceipt(l, 1, 900)
		message := r.Encode()
		signed, err := node.Sign(message[:])
		if err != nil {
			return nil, err
		}
		accepted, err := customer.Sign(message[:])
		if err != nil {
			return nil, err
		}
		return ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
			Lease: l, Payout: key('t', n), Receipt: r, NodeSignature: signed, CustomerSignature: accepted,
		})
	}}
}

// vote is a keeper's for a report.
func (b Bench) vote() Step {
	return Step{"report_vote", b.Units["report_vote"], one(func(int) (solana.Instruction, error) {
		return ix.ReportVote(ix.ReportVoteArgs{Keeper: payer, Period: 7, Root: [32]byte{1}})
	})}
}

// accrue, claim and shut are what else a report costs: fees are split, each keeper claims, and the report is closed.
func (b Bench) accrue() Step {
	return Step{"rewards_accrue", b.Units["rewards_accrue"], one(func(int) (solana.Instruction, error) {
		return ix.RewardsAccrue(ix.RewardsAccrueArgs{Period: 7, Treasury: key('y', 1)})
	})}
}

func (b Bench) claim() Step {
	return Step{"rewards_claim", b.Units["rewards_claim"], one(func(int) (solana.Instruction, error) {
		return ix.RewardsClaim(ix.RewardsClaimArgs{Keeper: payer, PaymentMint: key('u', 1), Period: 7})
	})}
}

func (b Bench) shut() Step {
	return Step{"report_close", b.Units["report_close"], one(func(int) (solana.Instruction, error) {
		r := market.Report{Meta: market.Meta{Address: key('r', 1)}}
		r.RentPayer = payer
		return ix.ReportClose(r)
	})}
}

// ofLease are the steps that each lease takes once, with who pays for them.
func (b Bench) ofLease() []paid {
	node := market.Node{Meta: market.Meta{Address: key('n', 0)}}
	node.Node.Provider, node.NodeKey = key('p', 0), payer
	order := market.Order{Meta: market.Meta{Address: key('o', 0)}}
	order.Customer = key('c', 0)
	mine := lease(0)
	mine.NodeKey = payer
	steps := []struct {
		name, who string
		build     func(int) (solana.Instruction, error)
	}{
		{"order_create", "customer", func(int) (solana.Instruction, error) {
			return ix.OrderCreate(ix.OrderCreateArgs{Customer: payer, Nonce: 1, Duration: 3600, Nodes: 1, GPUsPerNode: 1})
		}},
		{"order_award", "keeper", func(int) (solana.Instruction, error) {
			return ix.OrderAward(ix.OrderAwardArgs{Keeper: payer, Order: order, Node: node})
		}},
		{"lease_start", "machine", func(int) (solana.Instruction, error) { return ix.LeaseStart(ix.LeaseStartArgs{Lease: mine}) }},
		{"lease_end", "customer", func(int) (solana.Instruction, error) {
			return ix.LeaseEnd(ix.LeaseEndArgs{Authority: payer, Lease: lease(0)})
		}},
		{"lease_close", "keeper", func(int) (solana.Instruction, error) {
			return ix.LeaseClose(ix.LeaseCloseArgs{Authority: payer, Lease: lease(0)})
		}},
	}
	var out []paid
	for _, s := range steps {
		out = append(out, paid{Step{s.name, b.Units[s.name], one(s.build)}, s.who})
	}
	return out
}

// paid is a step with who pays for it.
type paid struct {
	Step
	who string
}

// private is a key pair from a seed.
func private(seed byte) solana.PrivateKey {
	return solana.PrivateKey(ed25519.NewKeyFromSeed(append(make([]byte, 31), seed)))
}
