package buy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// Named are the orders of the purchases with a name, with those of machines that were added to them.
func Named(all []purchase.Purchase, name string) (orders []solana.PublicKey) {
	for i := range all {
		if name != "" && purchase.NameOf(all, &all[i]) == name {
			orders = append(orders, all[i].Order)
		}
	}
	return orders
}

// LeaseNamed is the lease of a named purchase, of those in leases: the one that is live, or the latest where none is. Errors:
// *service.Failure where no machine has the purchase, or where several machines have it.
func LeaseNamed(name string, orders []solana.PublicKey, leases []market.Lease) (solana.PublicKey, error) {
	var of, live []market.Lease
	for i := range leases {
		if !slices.Contains(orders, leases[i].Order) {
			continue
		}
		of = append(of, leases[i])
		if s := leases[i].State(); s == market.LeaseAwarded || s == market.LeaseRunning {
			live = append(live, leases[i])
		}
	}
	switch {
	case len(live) > 1:
		slices.SortFunc(live, func(a, b market.Lease) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
		all := make([]string, len(live))
		for i := range live {
			all[i] = live[i].Address.String()
		}
		return solana.PublicKey{}, service.Usage(fmt.Sprintf("%s has %d machines", name, len(live)), "name one by the address of its lease: "+strings.Join(all, ", "))
	case len(live) == 1:
		return live[0].Address, nil
	case len(of) > 0:
		return slices.MaxFunc(of, func(a, b market.Lease) int { return cmp.Compare(a.AwardedAt, b.AwardedAt) }).Address, nil
	}
	return solana.PublicKey{}, service.Refused(fmt.Sprintf("no machine has %s: it waits, or its leases are closed", name), "see: gantry why "+orders[0].String())
}

// WithNames names leases as the purchases are named that they belong to.
func WithNames(leases []service.Lease, all []purchase.Purchase) {
	names := make(map[string]string, len(all))
	for i := range all {
		names[all[i].Order.String()] = purchase.NameOf(all, &all[i])
	}
	for i := range leases {
		if name := names[leases[i].Order]; name != "" {
			leases[i].Name = name
		}
	}
}

// NameLeases names a customer's leases as people have, on a server's page or when they bought them, by what is in the customer's folder.
// A lease without such a name keeps its own, or gets that of unnamed, which is told what runs on it and may be nil. The error says which
// records could not be read: their leases are without such a name.
func NameLeases(leases []service.Lease, customer *purchase.Folder, unnamed func(l *service.Lease, runs string) string) error {
	var bad []error
	for i := range leases {
		l := &leases[i]
		name, runs, err := nameIn(customer, l)
		bad = append(bad, err)
		if l.Name = cmp.Or(name, l.Name); l.Name == "" && unnamed != nil {
			l.Name = unnamed(l, runs)
		}
	}
	return errors.Join(bad...)
}

func nameIn(customer *purchase.Folder, l *service.Lease) (name, runs string, err error) {
	lease, err := solana.PublicKeyFromBase58(l.Address)
	if err != nil {
		return "", "", fmt.Errorf("lease %s: %w", l.Address, err)
	}
	order, err := solana.PublicKeyFromBase58(l.Order)
	if err != nil {
		return "", "", fmt.Errorf("order %s: %w", l.Order, err)
	}
	return customer.NameOfLease(order, lease)
}
