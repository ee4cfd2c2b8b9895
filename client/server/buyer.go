package server

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Prefixes keep the names of purchases over HTTP and by language models apart from those of gantry deploy --name.
const (
	httpPurchases = "http/"
	mcpPurchases  = "mcp/"
)

// buyer acts with an account. What is bought is stored as a command's purchase is, so it is bought once and
// gantry resume knows it.
type buyer struct {
	*Account
	b      *buy.Buyer
	prefix string // of the names of purchases
}

// acting buys under names with a prefix. Names without one are those of replicas of models: the service of models replaces one whose
// machine fails, and so their leases do not move.
func (a *Account) acting(ctx context.Context, prefix string) (*buyer, error) {
	b, err := a.buyer(ctx, prefix != "")
	return &buyer{Account: a, b: b, prefix: prefix}, err
}

// attend brings jobs to the machines to which their leases move, and those of purchases that a server before was killed in, until end
// is called.
func (b *buyer) attend(ctx context.Context) (end func()) {
	return b.b.Attend(ctx, buy.Attending{
		Ours:    func(name string) bool { return strings.HasPrefix(name, b.prefix) },
		Carried: func(inspect string, leases []service.Lease) error { return b.Inspections.Bought(b.b, inspect, leases) },
	})
}

// ours reports whether a purchase is of this kind of server: those of language models are apart from all others.
func (b *buyer) ours(name string) bool {
	return strings.HasPrefix(name, mcpPurchases) == (b.prefix == mcpPurchases)
}

// Buy implements serve.Buyer.
func (b *buyer) Buy(ctx context.Context, name string, r serve.OrderRequest) (serve.Bought, error) {
	request := buy.Request(r)
	request.Name, request.Detach, request.Ports = b.prefix+name, true, nil
	b.Backups.of(&request)
	request.KeepIn(b.Bucket)
	if request.Image != "" && !request.Guest { // a guest has no shell
		own, err := b.keys.Own()
		if err != nil {
			return serve.Bought{}, err
		}
		request.SSHKeys = append([]string{container.Line(own.PublicKey())}, request.SSHKeys...)
	}
	out, err := b.b.Buy(ctx, request)
	if err != nil {
		return serve.Bought{}, err
	}
	if b.Inspections != nil {
		err = b.Inspections.Bought(b.b, r.Inspect, out.Leases)
	}
	return serve.Bought{Order: out.Order, Leases: out.Leases, Public: out.Public, Image: out.Image}, err
}

// SoFar implements serve.Buyer.
func (b *buyer) SoFar(ctx context.Context, name string) (serve.Bought, error) {
	order, leases, err := b.b.SoFar(ctx, b.prefix+name)
	if err != nil || order.IsZero() {
		return serve.Bought{}, err
	}
	return serve.Bought{Order: order.String(), Leases: leases}, nil
}

// Stop implements serve.Buyer.
func (b *buyer) Stop(ctx context.Context, lease solana.PublicKey) (service.Lease, error) {
	stopped, err := b.b.Stop(ctx, lease)
	return stopped.Lease, err
}

// text names a cluster as its purchase does: an order's address stays, anything else is the key of a purchase.
func (b *buyer) text(id string) string {
	if _, err := solana.PublicKeyFromBase58(id); err == nil {
		return id
	}
	return b.prefix + id
}

// shown is a cluster with the key of its purchase as its name; without one where it was bought in another way.
func (b *buyer) shown(c buy.Cluster) buy.Cluster {
	key, ours := strings.CutPrefix(c.Name, b.prefix)
	if c.Name = key; !ours {
		c.Name = ""
	}
	return c
}

// Clusters implements serve.Clusters.
func (b *buyer) Clusters(ctx context.Context) ([]buy.Cluster, error) {
	all, err := b.b.Clusters(ctx)
	for i := range all {
		all[i] = b.shown(all[i])
	}
	return all, err
}

// Cluster implements serve.Clusters.
func (b *buyer) Cluster(ctx context.Context, id string) (buy.Cluster, error) {
	c, err := b.b.Cluster(ctx, b.text(id))
	return b.shown(c), err
}

// ScaleCluster implements serve.Clusters.
func (b *buyer) ScaleCluster(ctx context.Context, id string, nodes int, agree func(buy.Addition) error) (buy.Scaled, error) {
	c, err := b.b.ScaleCluster(ctx, b.text(id), nodes, agree)
	c.Cluster = b.shown(c.Cluster)
	if err == nil && b.Inspections != nil {
		err = b.Inspections.Bought(b.b, c.Inspect, c.Added)
	}
	return c, err
}

// EndCluster implements serve.Clusters.
func (b *buyer) EndCluster(ctx context.Context, id string, within time.Duration) (buy.Cluster, error) {
	c, err := b.b.EndCluster(ctx, b.text(id), within)
	return b.shown(c), err
}

// extensionsKept is how long the key of an extension stands for it.
const extensionsKept = 365 * 24 * time.Hour

// extender extends leases over HTTP. A key is a transaction of the manager's store, which sends it once.
type extender struct {
	buyer
	m *txm.Manager
}

// extender extends with the account's key; what it has sent is in the folder. The returned function closes that.
func (a *Account) extender(ctx context.Context) (*extender, func(), error) {
	b, err := a.acting(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	m, closeBoth, err := a.sender().Open(ctx, filepath.Join(a.folder.Dir(), "extensions.db"), extensionsKept)
	if err != nil {
		return nil, nil, err
	}
	return &extender{*b, m}, func() { closeBoth(true) }, nil
}

// Extend implements serve.Extender.
func (x *extender) Extend(ctx context.Context, key string, lease solana.PublicKey, seconds uint32) (service.Lease, error) {
	if _, err := x.Service.Lease(ctx, x.Customer, lease); err != nil {
		return service.Lease{}, err
	}
	return x.b.Extend(ctx, x.m, key, lease, seconds)
}
