package vpn

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Network are the machines of an order of a customer's, as they change.
type Network struct {
	// View follows the customer's leases.
	View     *view.View
	Customer solana.PublicKey
	Order    solana.PublicKey
	// Folder has the purchase, where this computer has made it.
	Folder *purchase.Folder

	recorded bool                   // the folder has the purchases, which know the places
	group    []messages.GroupMember // as they had it when they were read
	orders   []solana.PublicKey     // whose machines are in the network; the first is the one that made it
}

// Check refuses an order without a private network, and one of which no machine runs. Error: a service.Failure.
func (n *Network) Check() error {
	n.read()
	if o, ok := n.View.Order(n.orders[0]); ok && o.NodesWanted < 2 {
		return service.Refused(fmt.Sprintf("order %s has one machine, and so no private network", n.Order), "reach its ports by: gantry port LEASE PORT")
	}
	members, err := n.Members()
	if err == nil && len(members) == 0 {
		err = service.Refused(fmt.Sprintf("no machine of order %s runs its container", n.Order), "see: gantry leases")
	}
	return err
}

// read reads the places from the purchase.
func (n *Network) read() {
	all, _ := n.Folder.All() // without the purchase the machines say their places
	cluster := purchase.Cluster(all, n.Order)
	if len(cluster) == 0 {
		n.orders = []solana.PublicKey{n.Order}
		return
	}
	n.recorded, n.group, n.orders = true, purchase.Members(cluster), nil
	for _, p := range cluster {
		n.orders = append(n.orders, p.Order)
	}
}

// Members are the leases of the network that run.
func (n *Network) Members() ([]Member, error) {
	n.read() // another process writes the purchases
	var out []Member
	for _, order := range n.orders {
		for _, l := range n.View.LeasesOfOrder(order) {
			place := n.place(l.Address)
			if l.State() == market.LeaseRunning && l.Customer == n.Customer && (place >= 0 || !n.recorded) {
				out = append(out, Member{Lease: l.Address, Node: l.NodeKey, Place: place})
			}
		}
	}
	return out, nil
}

func (n *Network) place(lease solana.PublicKey) int {
	for i, m := range n.group {
		if m.Lease == lease {
			return i
		}
	}
	return -1
}
