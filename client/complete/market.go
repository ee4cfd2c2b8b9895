package complete

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// most is how many nodes are offered. Nobody chooses among more.
const most = 200

// Market is what is asked for addresses.
type Market struct {
	Service  *service.Service
	Client   *chain.Client
	Customer solana.PublicKey // zero for none
	Wallet   solana.PublicKey // whose records of purchases are read
	Root     string           // the folder of these records
	Close    func()
}

// recorded are the wallet's purchases that are not over, by the records of this machine.
func (m *Market) recorded() (out []purchase.Purchase) {
	folders, _ := filepath.Glob(filepath.Join(m.Root, "*", m.Wallet.String()))
	for _, dir := range folders {
		all, _ := purchase.At(dir).All() // a command says which cannot be read
		for _, p := range all {
			if p.Stage != purchase.Over {
				out = append(out, p)
			}
		}
	}
	return out
}

// snapshot is what is the customer's.
func (m *Market) snapshot(ctx context.Context) (*view.View, bool) {
	if m.Customer.IsZero() {
		return nil, false
	}
	v, err := m.Service.Snapshot(ctx, buy.ScopeOf(nil, []solana.PublicKey{m.Customer}))
	return v, err == nil
}

// leases are the customer's, with over also those that have ended.
func (m *Market) leases(ctx context.Context, over bool) (out []Candidate) {
	v, ok := m.snapshot(ctx)
	if !ok {
		return nil
	}
	names := map[string]string{}
	for _, p := range m.recorded() {
		names[p.Order.String()] = p.Name
	}
	for _, l := range service.DescribeLeases(v, v.LeasesOfCustomer(m.Customer), 0) {
		if live := l.Status == market.LeaseAwarded.String() || l.Status == market.LeaseRunning.String(); live || over {
			about := []string{names[l.Order], fmt.Sprintf("%d×%s", l.GPUs, l.Model), l.Status}
			out = append(out, Candidate{Value: l.Address, About: strings.Join(about, " ")})
		}
	}
	return out
}

// orders are those that the customer has on chain, and those of records. Records know names, which are taken too, and count
// alone where the chain does not answer.
func (m *Market) orders(ctx context.Context) (out []Candidate) {
	v, ok := m.snapshot(ctx)
	for _, p := range m.recorded() {
		if ok {
			if _, on := v.Order(p.Order); !on && len(v.LeasesOfOrder(p.Order)) == 0 && p.Stage != purchase.Intended {
				continue
			}
		}
		about := fmt.Sprintf("%s, %d nodes", p.Stage, p.Args.Nodes)
		out = append(out, Candidate{Value: p.Name, About: "order " + service.Short(p.Order) + ", " + about}, Candidate{Value: p.Order.String(), About: strings.TrimSpace(p.Name + " " + about)})
	}
	if !ok {
		return out
	}
	for _, o := range v.OrdersOf(m.Customer) {
		out = append(out, Candidate{Value: o.Address.String(), About: fmt.Sprintf("%s, %d nodes of %d GPUs", o.State(), o.NodesWanted, o.GpusPerNode)})
	}
	return out
}

// nodes are the wallet's own, or those of others where it has none.
func (m *Market) nodes(ctx context.Context) (out []Candidate) {
	v, err := m.Service.Snapshot(ctx, view.With([]chain.Filter{query.NodesOf(market.ProviderAddress(m.Wallet)), query.Kind(market.KindModel)}))
	if err != nil {
		return nil
	}
	if len(v.Nodes()) == 0 {
		if v, err = m.Service.Snapshot(ctx, view.Only(view.Kinds(market.KindNode, market.KindModel))); err != nil {
			return nil
		}
	}
	for _, n := range v.Nodes()[:min(len(v.Nodes()), most)] {
		about := fmt.Sprintf("%s %s", n.Region(), n.State())
		if model, ok := v.Model(n.Spec.Model); ok {
			about = fmt.Sprintf("%d×%s %s", n.Spec.Gpus, model.ModelName(), about)
		}
		out = append(out, Candidate{Value: n.Address.String(), About: about})
	}
	return out
}

// models are the GPUs of the market.
func (m *Market) models(ctx context.Context) (out []Candidate) {
	all, err := query.Select[market.Model](ctx, m.Client, query.Kind(market.KindModel), m.Client.Commitment())
	if err != nil {
		return nil
	}
	for _, one := range all {
		out = append(out, Candidate{Value: one.ModelName(), About: fmt.Sprintf("%d GiB", one.VramMib/1024)})
	}
	return out
}
