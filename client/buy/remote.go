package buy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// The customer's side of the protocols that nodes serve.
var (
	deployProtocol  = p2p.Protocol{ID: messages.Deploy, MaxRequest: messages.MaxDeploy, MaxResponse: messages.MaxCustomerMessage}
	statusProtocol  = ToNode(messages.Status)
	offerProtocol   = ToNode(messages.ReceiptOffer)
	receiptProtocol = ToNode(messages.ReceiptSigned)
	revokeProtocol  = ToNode(messages.Revoke)
)

// ToNode is a protocol that a node serves its customers.
func ToNode(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: messages.MaxCustomerMessage, MaxResponse: messages.MaxCustomerMessage}
}

// Remote talks to the machines of a customer's leases.
type Remote struct {
	// Net is the membership of the network, and View the accounts of which the leases are.
	Net     *p2p.Node
	View    *view.View
	wallet  solana.PrivateKey
	keepers []solana.PublicKey
	log     zerolog.Logger
	close   func()
	// Folder has the keys of outputs that measured guests have sealed; nil where none are known.
	Folder *purchase.Folder
	// Ends has what guests have said of the ends of their jobs. Remotes may share it.
	Ends *GuestEnds
}

// Network is a membership of the network that several calls share. A machine keeps one connection of a key: a second
// member with it would break the streams of the first.
type Network struct {
	mu   sync.Mutex
	node *p2p.Node
}

// Close leaves the network.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.node != nil {
		_ = n.node.Close()
	}
}

// Dialling says who joins the network, and how.
type Dialling struct {
	Client *chain.Client
	Key    solana.PrivateKey
	Shared *Network // nil for a membership of its own
	// ListenUDP opens QUIC's sockets; see p2p.Options.
	ListenUDP func(network string, laddr *net.UDPAddr) (net.PacketConn, error)
	Log       zerolog.Logger
}

// Dial joins the network as the customer and learns the keepers' addresses from a view with keepers. The caller closes
// what it returns.
func Dial(ctx context.Context, o Dialling, v *view.View) (*Remote, error) {
	n, leave, err := o.join(ctx)
	if err != nil {
		return nil, err
	}
	r := &Remote{Net: n, View: v, wallet: o.Key, log: o.Log, close: leave, Ends: &GuestEnds{}}
	r.Know(v)
	if len(r.keepers) == 0 {
		leave()
		return nil, network("no keeper of this market gives an address, so its machines cannot be found", "try again later: gantry keeper list", nil)
	}
	return r, nil
}

// Close leaves the network, unless the membership is shared.
func (r *Remote) Close() { r.close() }

// Keepers are those with an address, as Know has found them.
func (r *Remote) Keepers() []solana.PublicKey { return r.keepers }

// Wallet is the key as which it talks.
func (r *Remote) Wallet() solana.PrivateKey { return r.wallet }

// join joins the network, or takes the membership that is shared.
func (o Dialling) join(ctx context.Context) (n *p2p.Node, leave func(), err error) {
	if j := o.Shared; j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.node != nil {
			return j.node, func() {}, nil
		}
	}
	if n, err = service.Join(ctx, o.Client, p2p.Options{Key: o.Key, ListenUDP: o.ListenUDP, Log: o.Log}.ForCustomer(o.Client.Local())); err != nil {
		return nil, nil, err
	}
	if o.Shared != nil {
		o.Shared.node = n
		return n, func() {}, nil
	}
	return n, func() { _ = n.Close() }, nil
}

// canAttend is an error for a wallet that signs transactions alone.
func (b *Buyer) canAttend() error {
	if b.o.Key != nil {
		return nil
	}
	return usage("--sign-with signs transactions alone, and this command signs more: receipts, or what machines are asked",
		"use a key file, or a session key: gantry session add, with --sign-with, then --session")
}

// dial joins the network as the buyer.
func (b *Buyer) dial(ctx context.Context, v *view.View) (*Remote, error) {
	if err := b.canAttend(); err != nil {
		return nil, err
	}
	r, err := Dial(ctx, Dialling{Client: b.client, Key: b.o.Key, Shared: b.o.Network, Log: b.log}, v)
	if err == nil {
		r.Folder = b.folder
	}
	return r, err
}

// Know takes the keepers and their addresses from a view.
func (r *Remote) Know(v *view.View) {
	r.keepers = service.Introduce(r.Net, v, r.log)
}

// Pauses between tries to reach a machine.
const (
	reachPause    = 300 * time.Millisecond
	reachPauseMax = 3 * time.Second
)

// Reach connects to a machine through the keepers, and tries again until ctx ends.
func (r *Remote) Reach(ctx context.Context, key solana.PublicKey) error {
	for pause := reachPause; ; pause = min(pause*3/2, reachPauseMax) {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		r.Net.DialAgain(key) // the pause below is ours
		err := r.Net.Find(try, key, r.keepers)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, p2p.ErrVersion) { // of one keeper at least
			if err := r.understood(ctx); err != nil {
				return err
			}
		}
		if wait.For(ctx, pause) != nil {
			return fmt.Errorf("machine %s is not reachable: %w", key, err)
		}
	}
}

// understood returns an error if the keepers that answer speak another major version of the messages. Machines would
// not understand this program either: a lease would begin, and cost money, without its job. One keeper that
// understands it is enough, since others may lie.
func (r *Remote) understood(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	var other error
	for _, k := range r.keepers {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := r.Net.Lookup(try, k, r.wallet.PublicKey())
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

// Call asks a machine, connecting first when needed.
func Call[Req, Resp any](ctx context.Context, r *Remote, node solana.PublicKey, p p2p.Protocol, req Req) (Resp, error) {
	var none Resp
	if err := r.Reach(ctx, node); err != nil {
		return none, err
	}
	return p2p.Call[Req, Resp](ctx, r.Net, node, p, req)
}

// deploy brings the job, again and again until the machine has taken it, refuses it, or ctx ends: sealed, each time anew,
// where there is a sealer, and to a measured guest where the keys of its output are kept. Grants that were issued until the request's time are void there.
func (r *Remote) deploy(ctx context.Context, l market.Lease, plain messages.DeployRequest, sealer *seal.Sealer, keep func(*seal.Reader) error) (messages.LeaseStatus, error) {
	for {
		req, err := sealed(plain, sealer, keep)
		if err != nil {
			return messages.LeaseStatus{}, err
		}
		ans, err := Call[messages.DeployRequest, messages.LeaseAnswer](ctx, r, l.NodeKey, deployProtocol, req)
		switch {
		case err == nil && ans.Refused == "":
			return ans.Status, nil
		case err == nil && !ans.Unknown && ans.Refused != messages.SealUsed: // of which the answer was lost
			return ans.Status, &service.RefusedByNode{Why: ans.Refused}
		case errors.Is(err, p2p.ErrVersion):
			return ans.Status, err
		case err == nil:
			err = &service.RefusedByNode{Why: ans.Refused} // the machine may see the lease a little later than we do
		}
		if wait.For(ctx, 500*time.Millisecond) != nil {
			return messages.LeaseStatus{}, err
		}
	}
}

// sealed is a request as it is sent: as it is without a sealer.
func sealed(plain messages.DeployRequest, s *seal.Sealer, keep func(*seal.Reader) error) (messages.DeployRequest, error) {
	if s == nil {
		return plain, nil
	}
	raw, err := p2p.Encode(plain)
	if err != nil {
		return plain, err
	}
	id := s.ID()
	out := messages.DeployRequest{Version: plain.Version, Lease: plain.Lease, SealedTo: id[:]}
	var reader *seal.Reader
	if out.Sealed, reader, err = s.Converse(raw); err != nil || keep == nil {
		return out, err
	}
	out.Guest = true
	return out, keep(reader) // before it is sent: the answer may be lost
}

// Status is what the machine of a lease says of its job.
func (r *Remote) Status(ctx context.Context, l market.Lease) (messages.LeaseStatus, error) {
	ans, err := Call[messages.LeaseRequest, messages.LeaseAnswer](ctx, r, l.NodeKey, statusProtocol, messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	if err == nil && ans.Refused != "" {
		err = &service.RefusedByNode{Why: ans.Refused}
	}
	return ans.Status, err
}

// Revoke has a lease's machine refuse what gateways were granted until an instant, unix milliseconds.
func (r *Remote) Revoke(ctx context.Context, l market.Lease, until int64) error {
	ans, err := Call[messages.RevokeRequest, messages.RevokeAnswer](ctx, r, l.NodeKey, revokeProtocol,
		messages.RevokeRequest{Version: messages.Version, Lease: l.Address, Until: until})
	if err == nil && ans.Refused != "" {
		err = &service.RefusedByNode{Why: ans.Refused}
	}
	return err
}

// Logs reads the output of jobs on the machines.
func (r *Remote) Logs() *service.Logs {
	return &service.Logs{Net: r.Net, Reach: r.Reach, Keys: r.outputKeys, End: r.Ends.note, Over: func(lease solana.PublicKey) bool {
		l, ok := r.View.Lease(lease)
		return !ok || l.State() == market.LeaseEnded
	}}
}

// Follow writes output until it is complete, reconnecting when the connection breaks.
func (r *Remote) Follow(ctx context.Context, l market.Lease, offset uint64, w io.Writer) error {
	return r.Logs().Follow(ctx, l, offset, WriteTo(w))
}

// WriteTo passes output on to w.
func WriteTo(w io.Writer) func(service.Output) error {
	return func(o service.Output) error {
		_, err := w.Write(o.Data)
		return err
	}
}
