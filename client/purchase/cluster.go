package purchase

import (
	"cmp"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Cluster are the purchases whose machines share the private network of an order: the first one, and those of machines that were added
// later, by their places. Of the latter, those that came to nothing are left out. It is empty for an order that is not among all.
func Cluster(all []Purchase, order solana.PublicKey) []Purchase {
	i := slices.IndexFunc(all, func(p Purchase) bool { return p.Order == order })
	if i < 0 {
		return nil
	}
	first := all[i].Network()
	var out []Purchase
	for _, p := range all {
		if p.Order == first || p.Joins == first && (p.Stage != Over || len(p.Group) > 0) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Purchase) int {
		return cmp.Or(cmp.Compare(a.First, b.First), a.Created.Compare(b.Created))
	})
	return out
}

// Network is the order whose private network the machines of a purchase are in.
func (p *Purchase) Network() solana.PublicKey {
	if p.Joins.IsZero() {
		return p.Order
	}
	return p.Joins
}

// NameOf is the name under which a purchase was made: machines that are added to a private network have that of its first order, and
// an order that follows another has the name of that one.
func NameOf(all []Purchase, p *Purchase) string {
	for p.Name == "" {
		before := p.Joins
		if before.IsZero() {
			before = p.After
		}
		i := slices.IndexFunc(all, func(x Purchase) bool { return !before.IsZero() && x.Order == before })
		if i < 0 {
			return ""
		}
		p = &all[i]
	}
	return p.Name
}

// Members are the leases of a cluster's private network, each in its place.
func Members(cluster []Purchase) (out []messages.GroupMember) {
	for _, p := range cluster {
		if p.First != len(out) { // what comes before is not awarded yet
			break
		}
		out = append(out, p.Group...)
	}
	return out
}
