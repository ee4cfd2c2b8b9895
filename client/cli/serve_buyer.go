package cli

import (
	"context"
	"io"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
)

// Prefixes keep the names of purchases over HTTP and by language models apart from those of --name.
const (
	httpPurchases = "http/"
	mcpPurchases  = "mcp/"
)

// buyer acts for the server's customer. What is bought is stored as a command's purchase is, so it is bought once and
// `gantry resume` knows it.
type buyer struct {
	s      *session
	b      *buy.Buyer
	prefix string // of the names of purchases
}

// servedBuyer buys for a server; prefix is that of its purchases' names.
func (s *session) servedBuyer(prefix string) (*buyer, error) {
	b, err := s.fork(s.ctx).buyer()
	return &buyer{s: s, b: b, prefix: prefix}, err
}

// fork is a session of a server for one call: it shares client, key and folder, and nobody is asked and nothing
// printed but progress. The caller closes it.
func (s *session) fork(ctx context.Context) *session {
	f := *s
	f.ctx, f.closers, f.mk, f.agreed = ctx, nil, nil, false
	f.out, f.output, f.json, f.yes, f.terminal = io.Discard, io.Discard, true, true, false
	return &f
}

// ours reports whether a purchase is of this kind of server: those of language models are apart from all others.
func (b *buyer) ours(name string) bool {
	return strings.HasPrefix(name, mcpPurchases) == (b.prefix == mcpPurchases)
}

// Buy implements serve.Buyer.
func (b *buyer) Buy(ctx context.Context, name string, r serve.OrderRequest) (serve.Bought, error) {
	request := buy.Request(r)
	request.Name, request.Detach, request.Ports = b.prefix+name, true, nil
	if request.Image != "" {
		own, err := b.s.jobKeys()
		if err != nil {
			return serve.Bought{}, err
		}
		request.SSHKeys = append(own, request.SSHKeys...)
	}
	out, err := b.b.Buy(ctx, request)
	if err != nil {
		return serve.Bought{}, err
	}
	if b.s.inspections != nil {
		err = b.s.inspections.Bought(b.b, r.Inspect, out.Leases)
	}
	return serve.Bought{Order: out.Order, Leases: out.Leases}, err
}

// Stop implements serve.Buyer.
func (b *buyer) Stop(ctx context.Context, lease solana.PublicKey) (service.Lease, error) {
	stopped, err := b.b.Stop(ctx, lease)
	return stopped.Lease, err
}
