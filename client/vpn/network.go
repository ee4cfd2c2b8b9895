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

	recorded bool                   // the folder has the purchase, which knows the places
	group    []messages.GroupMember // as the purchase had it when it was read
}

// Check refuses an order without a private network, and one of which no machine runs. Error: a service.Failure.
func (n *Network) Check() error {
	n.read()
	if o, ok := n.View.Order(n.Order); ok && o.NodesWanted < 2 {
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
	for i := range all {
		if all[i].Order == n.Order {
			n.recorded, n.group = true, all[i].Group
		}
	}
}

// Members are the leases of the order that run.
func (n *Network) Members() ([]Member, error) {
	var out []Member
	fresh := false
	for _, l := range n.View.LeasesOfOrder(n.Order) {
		if l.State() != market.LeaseRunning || l.Customer != n.Customer {
			continue
		}
		place := n.place(l.Address)
		if place < 0 && n.recorded && !fresh {
			n.read() // another process writes the purchase
			place, fresh = n.place(l.Address), true
		}
		if place >= 0 || !n.recorded {
			out = append(out, Member{Lease: l.Address, Node: l.NodeKey, Place: place})
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
