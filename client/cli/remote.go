package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// The customer's side of the protocols that nodes serve.
var (
	deployProtocol  = toNode(messages.Deploy)
	statusProtocol  = toNode(messages.Status)
	offerProtocol   = toNode(messages.ReceiptOffer)
	receiptProtocol = toNode(messages.ReceiptSigned)
)

func toNode(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: 256 << 10, MaxResponse: 256 << 10}
}

// remote talks to the machines of a customer's leases.
type remote struct {
	net     *p2p.Node
	view    *view.View
	wallet  solana.PrivateKey
	keepers []solana.PublicKey
	log     zerolog.Logger
}

// dial joins the network as the customer and learns the keepers' addresses from the chain.
func (s *session) dial(v *view.View) (*remote, error) {
	key, err := s.keyFile()
	if err != nil {
		return nil, err
	}
	n, err := s.join(key)
	if err != nil {
		return nil, err
	}
	r := &remote{net: n, view: v, wallet: key, log: s.log}
	r.know(v)
	if len(r.keepers) == 0 {
		return nil, network("no keeper of this market gives an address, so its machines cannot be found", "try again later: gantry keeper list", nil)
	}
	return r, nil
}

// joined is a member of the network that several sessions share. A machine keeps one connection of a key: the second
// member with it would break the first one's streams.
type joined struct {
	mu   sync.Mutex
	node *p2p.Node
}

// close leaves the network.
func (j *joined) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.node != nil {
		_ = j.node.Close()
	}
}

// join joins the network, or takes the membership that the session shares.
func (s *session) join(key solana.PrivateKey) (*p2p.Node, error) {
	if j := s.joined; j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.node != nil {
			return j.node, nil
		}
	}
	public, err := s.client.Public(s.ctx)
	if err != nil {
		return nil, err
	}
	n, err := p2p.New(p2p.Options{Key: key, UserAgent: "gantry/" + version.Build, PublicOnly: public, Log: s.log}.ForCustomer(s.client.Local()))
	switch {
	case err != nil:
		return nil, err
	case s.joined != nil:
		s.joined.node = n
	default:
		s.closers = append(s.closers, func() { _ = n.Close() })
	}
	return n, nil
}

// know takes the keepers and their addresses from a view.
func (r *remote) know(v *view.View) {
	r.net.Know(roles.Names{View: v})
	var keepers []solana.PublicKey
	for _, k := range v.Keepers() {
		if err := r.net.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}); err != nil {
			r.log.Debug().Err(err).Str("keeper", k.Wallet.String()).Msg("keeper's address is not usable")
			continue
		}
		keepers = append(keepers, k.Wallet)
	}
	r.keepers = keepers
}

// reach connects to a machine through the keepers, and tries again until ctx ends.
func (r *remote) reach(ctx context.Context, key solana.PublicKey) error {
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := r.net.Find(try, key, r.keepers)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, p2p.ErrVersion) { // of one keeper at least
			if err := r.understood(ctx); err != nil {
				return err
			}
		}
		t := time.NewTimer(300 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("machine %s is not reachable: %w", key, err)
		case <-t.C:
		}
	}
}

// understood returns an error if the keepers that answer speak another major version of the messages. Machines would not
// understand this program either: a lease would begin, and cost money, without its job. One keeper that understands it
// is enough, since others may lie.
func (r *remote) understood(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	var other error
	for _, k := range r.keepers {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := r.net.Lookup(try, k, r.wallet.PublicKey())
		cancel()
		var answer *p2p.Error
		switch {
		case err == nil, errors.As(err, &answer):
			return nil
		case errors.Is(err, p2p.ErrVersion):
			other = fmt.Errorf("the market's keepers do not understand this program: %w", err)
		}
	}
	return other
}

// call asks a machine, connecting first when needed.
func call[Req, Resp any](ctx context.Context, r *remote, node solana.PublicKey, p p2p.Protocol, req Req) (Resp, error) {
	var none Resp
	if err := r.reach(ctx, node); err != nil {
		return none, err
	}
	return p2p.Call[Req, Resp](ctx, r.net, node, p, req)
}

// deploy brings the job, again and again until the machine has taken it, refuses it, or ctx ends. Grants that were issued
// until revoked are void there.
func (r *remote) deploy(ctx context.Context, l market.Lease, job messages.JobSpec, c *messages.RegistryCredential, v volumeSecrets, revoked int64) (messages.LeaseStatus, error) {
	req := messages.DeployRequest{Version: messages.Version, Lease: l.Address, Job: job, Registry: c, VolumeKey: v.key, Backup: v.backup, RevokedUntil: revoked}
	for {
		ans, err := call[messages.DeployRequest, messages.LeaseAnswer](ctx, r, l.NodeKey, deployProtocol, req)
		switch {
		case err == nil && ans.Refused == "":
			return ans.Status, nil
		case err == nil && !ans.Unknown:
			return ans.Status, &service.RefusedByNode{Why: ans.Refused}
		case errors.Is(err, p2p.ErrVersion):
			return ans.Status, err
		case err == nil:
			err = &service.RefusedByNode{Why: ans.Refused} // the machine may see the lease a little later than we do
		}
		t := time.NewTimer(500 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return messages.LeaseStatus{}, err
		case <-t.C:
		}
	}
}

func (r *remote) status(ctx context.Context, l market.Lease) (messages.LeaseStatus, error) {
	ans, err := call[messages.LeaseRequest, messages.LeaseAnswer](ctx, r, l.NodeKey, statusProtocol, messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	if err == nil && ans.Refused != "" {
		err = &service.RefusedByNode{Why: ans.Refused}
	}
	return ans.Status, err
}

// logs reads the output of jobs on the machines.
func (r *remote) logs() *service.Logs {
	return &service.Logs{Net: r.net, Reach: r.reach, Over: func(lease solana.PublicKey) bool {
		l, ok := r.view.Lease(lease)
		return !ok || l.State() == market.LeaseEnded
	}}
}

// follow writes output until it is complete, reconnecting when the connection breaks.
func (r *remote) follow(ctx context.Context, l market.Lease, offset uint64, w io.Writer) error {
	return r.logs().Follow(ctx, l, offset, writeTo(w))
}

func writeTo(w io.Writer) func(service.Output) error {
	return func(o service.Output) error {
		_, err := w.Write(o.Data)
		return err
	}
}
