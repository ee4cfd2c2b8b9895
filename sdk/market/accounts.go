package market

import (
	"bytes"
	"math/bits"
	"strconv"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/printable"
)

// Params are the market's parameters; see program/src/state/params.rs for each one's unit.
type Params = bindings.Params

// Requirement is what an order asks of a node.
type Requirement = bindings.Requirement

// NodeSpec is what a machine claims to be.
type NodeSpec = bindings.NodeSpec

// Meta is the address of a decoded account, and the slot at which it was read.
type Meta struct {
	Address  solana.PublicKey
	Slot     uint64
	Lamports uint64
}

// The accounts of the program. The embedded struct has the fields as they lie on chain; methods give them types.
type (
	// Market holds governance, mints, parameters and counters.
	Market struct {
		Meta
		bindings.Market
	}
	// Model is what the market knows of a GPU model.
	Model struct {
		Meta
		bindings.GpuModel
	}
	// Provider is an owner of machines.
	Provider struct {
		Meta
		bindings.Provider
	}
	// Node is one machine.
	Node struct {
		Meta
		bindings.Node
	}
	// Keeper is a keeper's bond and record.
	Keeper struct {
		Meta
		bindings.Keeper
	}
	// Credits is a customer's money.
	Credits struct {
		Meta
		bindings.Credits
	}
	// Order is what a customer asks for.
	Order struct {
		Meta
		bindings.Order
	}
	// Auction has the windows and the outcome of a sealed order's auction.
	Auction struct {
		Meta
		bindings.Auction
	}
	// Outage has keepers' votes that a node does not answer.
	Outage struct {
		Meta
		bindings.Outage
	}
	// Lease is one node's work for one order.
	Lease struct {
		Meta
		bindings.Lease
	}
	// Report has the votes of one period. Roots returns all roots with votes.
	Report struct {
		Meta
		bindings.Report
		// Tail are the roots beyond the four of Candidates.
		Tail []bindings.Candidate
	}
	// Fault is a slash that waits for its appeal window to pass.
	Fault struct {
		Meta
		bindings.Fault
	}
	// Payout is a part of a slash that waits for its delay: a finder's or a victim's.
	Payout struct {
		Meta
		bindings.Payout
	}
	// FraudProof is the first parts of a proof of a wrong byte of a measurement.
	FraudProof struct {
		Meta
		bindings.FraudProof
	}
	// Rewards says how swept fees are shared.
	Rewards struct {
		Meta
		bindings.Rewards
	}
	// Dispute is a customer's complaint about a lease, and the votes on it.
	Dispute struct {
		Meta
		bindings.Dispute
	}
	// Device is the claim of one physical GPU, by its UUID or by its own key.
	Device struct {
		Meta
		Node      solana.PublicKey
		Identity  [32]byte
		RentPayer solana.PublicKey
		Tier      uint8
		Key       bool  // of its own key
		Expires   int64 // until when the tier stands, unix seconds
	}
)

// Text reads a zero-padded field of bytes, which may be anything, as what can be printed.
func Text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return printable.Text(string(b))
}

// Text16 pads a text with zeroes to 16 bytes, cutting what is longer. Regions and sites are such fields.
func Text16(s string) (b [16]byte) { copy(b[:], s); return b }

// MaxModelName is how many bytes the name of a GPU model may have.
const MaxModelName = 32

// Text32 pads a text with zeroes to 32 bytes, cutting what is longer. Model names are such fields.
func Text32(s string) (b [32]byte) { copy(b[:], s); return b }

// ModelName is the model's name as text.
func (m *Model) ModelName() string { return Text(m.Name[:]) }

// Free is the balance that no order and no lease reserves.
func (c *Credits) Free() USDC {
	if c.Credits.Reserved > c.Balance {
		return 0
	}
	return USDC(c.Balance - c.Credits.Reserved)
}

// State is the node's status with its type.
func (n *Node) State() NodeStatus { return NodeStatus(n.Status) }

// Ask is the standing ask.
func (n *Node) Ask() PricePerHour { return PricePerHour(n.Price) }

// SpotAsk is what the node asks for interruptible work; 0 when it takes none.
func (n *Node) SpotAsk() PricePerHour {
	ask, _ := mulDiv(n.Price, uint64(n.SpotBps), BPS) // SpotBps is at most BPS
	return PricePerHour(ask)
}

// AskFor is what the node asks for work that is interruptible or not; 0 when it takes no such work. It is the twin of Node::ask.
func (n *Node) AskFor(interruptible bool) PricePerHour {
	if interruptible {
		return n.SpotAsk()
	}
	return n.Ask()
}

// AsSpot is the node as interruptible orders see it: its whole price is its spot price. ok is false where it takes no such work.
func (n *Node) AsSpot() (spot *Node, ok bool) {
	ask := n.SpotAsk()
	if ask == 0 {
		return nil, false
	}
	as := *n
	as.Price, as.SpotBps = uint64(ask), BPS
	return &as, true
}

// FreeStake is what no node of the provider has.
func (p *Provider) FreeStake() GNT { return GNT(p.Stake - min(p.Stake, p.LockedStake)) }

// AvailableStake is what of the node's own stake no open fault holds.
func (n *Node) AvailableStake() uint64 { return n.Stake - min(n.Stake, n.ReservedStake) }

// MissingStake is what the node has to be topped up with before it is covered.
func (n *Node) MissingStake() GNT {
	return GNT(n.RequiredStake - min(n.RequiredStake, n.AvailableStake()))
}

// StoppedBilling reports whether a running lease of the node bills no more, because the node was slashed and not topped
// up: then anyone may end it.
func (n *Node) StoppedBilling(l *Lease, now int64) bool {
	return l.State() == LeaseRunning && n.BillingUntil != 0 && now >= n.BillingUntil && n.BillingUntil < l.FundedUntil
}

// Covered reports whether the available stake is what the node needs. A node that is not covered is awarded nothing.
func (n *Node) Covered() bool { return n.AvailableStake() >= n.RequiredStake }

// Region is the region as text.
func (n *Node) Region() string { return Text(n.Spec.Region[:]) }

// Site is the site as text, empty when not said.
func (n *Node) Site() string { return Text(n.Spec.Site[:]) }

// FreeGPUs is how many GPUs no lease has.
func (n *Node) FreeGPUs() uint8 {
	all := uint16(0xffff)
	if n.Spec.Gpus < 16 {
		all = 1<<n.Spec.Gpus - 1
	}
	return uint8(bits.OnesCount16(all &^ n.GpuMask))
}

// ReputationInputs is what the reputation of the node is computed from.
func (n *Node) ReputationInputs() ReputationInputs {
	return ReputationInputs{
		UptimeBPS: n.UptimeBps, FeesCompleted: n.FeesCompleted, FeesFailed: n.FeesFailed,
		RatingSum: n.RatingSum, RatingWeight: n.RatingWeight, Days: n.Days(),
		DisputeBPS: n.DisputeBps, DisputeLostAt: n.DisputeLostAt,
	}
}

// Days is for how many whole days the machine was up in periods that were good, up to those that count.
func (n *Node) Days() uint8 { return uint8(min(n.UpSecs/86_400, FullAgeDays)) }

// ShownUptime is the uptime that checks have shown, in basis points: 0 where there was no check.
func (n *Node) ShownUptime() uint16 {
	if n.ChecksTotal == 0 {
		return 0
	}
	return n.UptimeBps
}

// Reputation in basis points at a unix second.
func (n *Node) Reputation(now int64) uint16 { return Reputation(n.ReputationInputs(), now) }

// GuaranteeUntil is the uptime that the node guarantees for work that ends at a unix second at the latest, in basis points; 0
// where the guarantee ends before. It is the twin of Guarantee::bps_until.
func (n *Node) GuaranteeUntil(end int64) uint16 {
	if end <= n.GuaranteedUntil {
		return n.GuaranteeBps
	}
	return 0
}

// Score of the node's standing ask at now, for work that ends at end at the latest.
func (n *Node) Score(now, end int64) (uint64, error) {
	return Score(n.Ask(), n.Reputation(now), n.GuaranteeUntil(end))
}

// State is the keeper's status with its type.
func (k *Keeper) State() KeeperStatus { return KeeperStatus(k.Status) }

// Addr is the keeper's libp2p address.
func (k *Keeper) Addr() string {
	return Text(k.Multiaddr[:min(int(k.MultiaddrLen), len(k.Multiaddr))])
}

// Place is the keeper's place among the voters; nil while it is not active and has none.
func (k *Keeper) Place() *uint16 {
	if k.Index >= MaxKeepers {
		return nil
	}
	place := k.Index
	return &place
}

// PlaceName writes a place among the voters; "-" for none.
func PlaceName(place *uint16) string {
	if place == nil {
		return "-"
	}
	return strconv.Itoa(int(*place))
}

// Has reports whether the bitmap of voters has the keeper of this index.
func Has(voters [32]uint8, index uint16) bool {
	return index < MaxKeepers && voters[index/8]&(1<<(index%8)) != 0
}

// State is the order's status with its type.
func (o *Order) State() OrderStatus { return OrderStatus(o.Status) }

// State is the lease's status with its type.
func (l *Lease) State() LeaseStatus { return LeaseStatus(l.Status) }

// Reason is why the lease is over.
func (l *Lease) Reason() EndReason { return EndReason(l.EndReason) }

// HasLease reports whether the fault harmed a lease.
func (f *Fault) HasLease() bool { return !f.Lease.IsZero() }
