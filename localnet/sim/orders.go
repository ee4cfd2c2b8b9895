package sim

import (
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
)

// orders are the customers: they keep about half of the machines leased. And the agents, as far as leases go: a machine
// that sees a lease of its own starts it.
type orders struct {
	w        *world
	dice     dice
	nonce    uint64
	customer solana.PublicKey
	over     bool // nobody orders any more
}

// busy is the share of machines that customers want, of a hundred.
const busy = 50

func newOrders(w *world) orders {
	return orders{w: w, dice: newDice(w.o.Seed, "orders"), customer: key(w.o.Seed, "customer").PublicKey()}
}

// begin spreads the first orders over the first period; every lease that ends makes room for another.
func (o *orders) begin() {
	for range max(1, o.w.o.Nodes*busy/100) {
		o.w.loop.At(o.w.start.Add(o.dice.between(0, o.w.o.Period)), o.place)
	}
}

func (o *orders) place() {
	w := o.w
	if o.over {
		return
	}
	o.nonce++
	var order market.Order
	order.Customer, order.Nonce, order.MaxPrice, order.NodesWanted = o.customer, o.nonce, 2_000_000, 1
	order.GpusPerNode, order.NoMigration = gpusPerNode, 1
	order.DurationSecs = uint32((w.o.Period + o.dice.exponential(3*w.o.Period)) / time.Second)
	order.Requirement = market.Requirement{Model: modelID, AllowSimulated: 1}
	if err := w.chain.CreateOrder(order); err != nil {
		w.fail(err)
	}
	w.endSlot()
}

// see reads a block as customers and agents do.
func (o *orders) see(block []change) {
	w := o.w
	for _, c := range block {
		l, ok := c.account.(*market.Lease)
		if !ok {
			continue
		}
		m := w.byNode[l.Lease.Node]
		switch l.State() {
		case market.LeaseAwarded:
			w.loop.After(time.Second+o.dice.exponential(2*time.Second), func() { o.startLease(m, *l) })
		case market.LeaseEnded, market.LeaseFailed:
			if _, ours := m.leases[l.Address]; ours {
				delete(m.leases, l.Address)
				w.loop.After(o.dice.exponential(w.o.Period/2), o.place)
			}
		}
	}
}

func (o *orders) startLease(m *machine, l market.Lease) {
	w := o.w
	again := func() { w.loop.After(w.o.Period, o.place) }
	if !m.up() {
		again() // too late when it comes back: somebody aborts the lease
		return
	}
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: l})
	if err != nil {
		w.fail(err)
		return
	}
	m.leases[l.Address] = leaseTruth{started: w.loop.Now()}
	w.enqueue(m.key.PublicKey(), []solana.Instruction{instruction}, func(err error) {
		if err != nil {
			delete(m.leases, l.Address)
			again()
		}
	})
}
