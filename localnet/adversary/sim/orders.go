package sim

import (
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// orders are the customers: they keep about half of the machines leased. And the agents, as far as leases go: a machine
// that sees a lease of its own starts it.
type orders struct {
	sim      *simulation
	rng      rng
	nonce    uint64
	customer solana.PublicKey
	over     bool // customers order no more
}

// busy is the share of machines that customers want, of a hundred.
const busy = 50

func newOrders(sim *simulation) orders {
	return orders{sim: sim, rng: newRNG(sim.o.Seed, "orders"), customer: key(sim.o.Seed, "customer").PublicKey()}
}

// begin spreads the first orders over the first period; every lease that ends makes room for another.
func (o *orders) begin() {
	for range max(1, o.sim.o.Nodes*busy/100) {
		o.sim.loop.At(o.sim.start.Add(o.rng.between(0, o.sim.o.Period)), o.place)
	}
}

func (o *orders) place() {
	sim := o.sim
	if o.over {
		return
	}
	o.nonce++
	var order market.Order
	order.Customer, order.Nonce, order.MaxPrice, order.NodesWanted = o.customer, o.nonce, 2_000_000, 1
	order.GpusPerNode, order.NoMigration = gpusPerNode, 1
	order.DurationSecs = uint32((sim.o.Period + o.rng.exponential(3*sim.o.Period)) / time.Second)
	order.Requirement = market.Requirement{Models: market.Models(modelID), AllowSimulated: 1}
	if err := sim.chain.CreateOrder(order); err != nil {
		sim.fail(err)
	}
	sim.endSlot()
}

// see reads a block as customers and agents do.
func (o *orders) see(block []change) {
	sim := o.sim
	for _, c := range block {
		l, ok := c.account.(*market.Lease)
		if !ok {
			continue
		}
		m := sim.byNode[l.Lease.Node]
		switch l.State() {
		case market.LeaseAwarded:
			sim.loop.After(m.endpoint.behind()+o.rng.exponential(2*time.Second), func() { o.startLease(m, *l) })
		case market.LeaseEnded, market.LeaseFailed:
			if _, ours := m.leases[l.Address]; ours {
				sim.loop.After(m.endpoint.behind(), func() { delete(m.leases, l.Address) })
				sim.loop.After(o.rng.exponential(sim.o.Period/2), o.place)
			}
		}
	}
}

func (o *orders) startLease(m *machine, l market.Lease) {
	sim := o.sim
	again := func() { sim.loop.After(sim.o.Period, o.place) }
	if !m.up() {
		again() // too late when it comes back: somebody aborts the lease
		return
	}
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: l})
	if err != nil {
		sim.fail(err)
		return
	}
	m.leases[l.Address] = leaseTruth{started: sim.loop.Now()}
	sim.enqueue(m.key.PublicKey(), []solana.Instruction{instruction}, func(err error) {
		if err != nil {
			delete(m.leases, l.Address)
			again()
		}
	})
}
