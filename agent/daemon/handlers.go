package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/agent/starts"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// The node's side of its protocols. A keeper or customer on the other side needs the same id and sizes.
var (
	// Only keepers take places here, and none takes more than eight of so many that a hundred keepers leave room.
	challengeProtocol = p2p.Protocol{
		ID: messages.Challenge, MaxRequest: 4 << 10, MaxResponse: messages.MaxMessage,
		Timeout: 30 * time.Second, Rate: 20, Burst: 60, Concurrent: 1024, PerPeer: 8,
	}
	deployProtocol  = customerProtocol(messages.Deploy)
	statusProtocol  = customerProtocol(messages.Status)
	logsProtocol    = customerProtocol(messages.Logs)
	useProtocol     = customerProtocol(messages.LeaseUse)
	shellProtocol   = customerProtocol(messages.Shell)
	portsProtocol   = customerProtocol(messages.Ports)
	offerProtocol   = customerProtocol(messages.ReceiptOffer)
	receiptProtocol = customerProtocol(messages.ReceiptSigned)
	revokeProtocol  = customerProtocol(messages.Revoke)
	suspendProtocol = customerProtocol(messages.Suspend)
	// A TPM is slow: the server has customers take turns, and a call waits for its turn.
	attestProtocol = p2p.Protocol{
		ID: messages.LeaseAttest, MaxRequest: 16 << 10, MaxResponse: messages.MaxMessage, Timeout: time.Minute,
		Rate: 2, Burst: 12, Concurrent: 16, PerPeer: 2,
	}
	// Who looks for a machine is a stranger to it.
	startsProtocol = p2p.Protocol{
		ID: messages.Starts, MaxRequest: 1 << 10, MaxResponse: messages.MaxStartsAnswer, Timeout: 5 * time.Second,
		Rate: 2, Burst: 8, Concurrent: 32, PerPeer: 2, Public: true,
	}
	// A gateway is a stranger until it has shown a customer's grant.
	guestProtocol = p2p.Protocol{
		ID: messages.Guest, MaxRequest: 8 << 10, MaxResponse: 4 << 10, Rate: 20, Burst: 60, Concurrent: 256, PerPeer: 32, Public: true,
	}
)

// customerProtocol is a protocol between customers and this node.
func customerProtocol(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: messages.MaxCustomerMessage, MaxResponse: messages.MaxCustomerMessage, Rate: 20, Burst: 60, Concurrent: 128}
}

// handlers answers the requests of keepers and customers.
type handlers struct {
	challenges *challenge.Server
	leases     *lease.Manager
	receipts   *receipt.Server
	starts     *starts.Book
	asked      *atomic.Int64 // when a keeper last asked, unix nanoseconds
	log        zerolog.Logger
}

// register has the node answer its protocols: keepers' challenges, and its customers, of whom those with a lease have
// places of their own.
func (h *handlers) register(n *p2p.Node, g *guests) {
	challenges := challengeProtocol
	challenges.May = g.challenges
	customers := func(p p2p.Protocol) p2p.Protocol {
		p.May, p.First = g.deals, g.leases
		return p
	}
	p2p.Handle(n, challenges, h.challenge)
	deploy := customers(deployProtocol)
	deploy.MaxRequest = messages.MaxDeploy
	deploy.Grace = 3 * time.Second // the customer may see its order before this node does
	p2p.Handle(n, deploy, h.deploy)
	p2p.Handle(n, customers(statusProtocol), h.status)
	p2p.HandleStream(n, customers(logsProtocol), h.logs)
	uses := useProtocol
	uses.May, uses.First = g.leases, g.leases
	p2p.Handle(n, uses, h.use)
	shells := shellProtocol
	shells.May, shells.First = g.leases, g.leases // customers that have a lease, not those that might get one
	p2p.HandleConn(n, shells, h.shell)
	ports := portsProtocol
	ports.May, ports.First = g.leases, g.leases
	p2p.HandleConn(n, ports, h.ports)
	guest := guestProtocol
	guest.First = h.leases.Welcome
	p2p.HandleConn(n, guest, h.guest)
	p2p.Handle(n, customers(revokeProtocol), h.revoke)
	attest := attestProtocol
	attest.May, attest.First, attest.Grace = g.leases, g.leases, 3*time.Second
	p2p.Handle(n, attest, h.attest)
	suspend := suspendProtocol
	suspend.May, suspend.First = g.leases, g.leases
	p2p.Handle(n, suspend, h.suspend)
	p2p.Handle(n, startsProtocol, h.starts.Answer)
	p2p.Handle(n, customers(offerProtocol), h.offer)
	p2p.Handle(n, customers(receiptProtocol), h.signed)
}

func (h *handlers) challenge(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	resp, err := h.challenges.Answer(ctx, from, req)
	var refused *challenge.RefusedError
	if errors.As(err, &refused) {
		return resp, p2p.Refuse(p2p.CodeRefused, "%s", refused.Why)
	}
	h.asked.Store(time.Now().UnixNano())
	return resp, err
}

// attest proves this machine to a customer of its lease.
func (h *handlers) attest(ctx context.Context, from solana.PublicKey, req messages.AttestRequest) (messages.AttestAnswer, error) {
	answer, err := h.challenges.Attest(ctx, from, req)
	var refused *challenge.RefusedError
	if errors.As(err, &refused) {
		return answer, p2p.Refuse(p2p.CodeRefused, "%s", printable.Text(refused.Why))
	}
	return answer, err
}

// refusal separates a refusal, which the caller may read, from an error of the node, which it may not.
func (h *handlers) refusal(err error) (string, error) {
	var refused *lease.RefusedError
	if errors.As(err, &refused) {
		return printable.Text(refused.Why), nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		h.log.Warn().Err(err).Msg("a customer's request failed")
	}
	return "", err
}

func (h *handlers) deploy(ctx context.Context, from solana.PublicKey, req messages.DeployRequest) (messages.LeaseAnswer, error) {
	take := h.leases.Deploy
	if req.Guest {
		take = h.leases.DeployGuest // it is sealed to the guest, and not to this machine
	} else if len(req.Sealed) > 0 {
		opened, why := h.opened(req)
		if why != "" {
			return messages.LeaseAnswer{Version: messages.Version, Status: messages.LeaseStatus{Lease: req.Lease, State: messages.LeaseWaiting}, Refused: why}, nil
		}
		req = opened
	}
	st, err := take(ctx, from, req)
	var refused *lease.RefusedError
	unknown := errors.As(err, &refused) && refused.Unknown
	why, err := h.refusal(err)
	return messages.LeaseAnswer{Version: messages.Version, Status: st, Refused: why, Unknown: unknown}, err
}

// opened is the request that was sealed to a key of its lease, or why there is none.
func (h *handlers) opened(req messages.DeployRequest) (inner messages.DeployRequest, why string) {
	if len(req.SealedTo) != 32 {
		return inner, "the job is sealed to no key"
	}
	plain, err := h.challenges.Open(req.Lease, [32]byte(req.SealedTo), req.Sealed)
	switch {
	case errors.Is(err, challenge.ErrNoKey):
		return inner, messages.SealLost
	case errors.Is(err, seal.ErrUsed):
		return inner, messages.SealUsed
	case err != nil:
		return inner, "the job cannot be opened: " + printable.Text(err.Error())
	}
	if err = p2p.Decode(plain, &inner); err == nil {
		err = messages.Check(inner)
	}
	if err != nil || inner.Lease != req.Lease || len(inner.Sealed) > 0 {
		return inner, "what was sealed is no job for this lease"
	}
	inner.Unrecorded = true // who seals a job tells nobody what it is
	return inner, ""
}

func (h *handlers) status(ctx context.Context, from solana.PublicKey, req messages.LeaseRequest) (messages.LeaseAnswer, error) {
	st, err := h.leases.Status(ctx, from, req.Lease)
	why, err := h.refusal(err)
	return messages.LeaseAnswer{Version: messages.Version, Status: st, Refused: why}, err
}

// use tells a customer what its lease uses.
func (h *handlers) use(ctx context.Context, from solana.PublicKey, req messages.LeaseRequest) (messages.UseAnswer, error) {
	use, err := h.leases.Use(ctx, from, req.Lease)
	why, err := h.refusal(err)
	return messages.UseAnswer{Version: messages.Version, Use: use, Refused: why}, err
}

func (h *handlers) logs(ctx context.Context, from solana.PublicKey, req messages.LogsRequest, send func(messages.LogChunk) error) error {
	var left error
	err := h.leases.Logs(ctx, from, req, func(c messages.LogChunk) error {
		left = send(c)
		return left
	})
	if left != nil {
		return left // the customer does not read any more: nothing failed here, and it could fill the log
	}
	why, err := h.refusal(err)
	if why != "" {
		return send(messages.LogChunk{Offset: req.Offset, End: true, Refused: why})
	}
	return err
}

// shell connects a customer with its container.
func (h *handlers) shell(ctx context.Context, from solana.PublicKey, req messages.ShellRequest, accept func(messages.ShellAnswer) (net.Conn, error)) error {
	accepted := false
	err := h.leases.Shell(ctx, from, req, func(hostKey []byte) (io.ReadWriter, error) {
		accepted = true
		return accept(messages.ShellAnswer{Version: messages.Version, HostKey: hostKey, User: req.User})
	})
	if accepted {
		if err != nil && ctx.Err() == nil {
			h.log.Debug().Err(err).Msg("a connection to a container ended")
		}
		return nil
	}
	why, err := h.refusal(err)
	if why != "" {
		_, err = accept(messages.ShellAnswer{Version: messages.Version, HostKey: []byte{}, Refused: why})
	}
	return err
}

// ports connects a customer with ports of its container.
func (h *handlers) ports(ctx context.Context, from solana.PublicKey, req messages.PortsRequest, accept func(messages.GuestAnswer) (net.Conn, error)) error {
	return h.connect(ctx, accept, func(accept func() (io.ReadWriter, error)) error { return h.leases.Ports(ctx, from, req, accept) })
}

// guest connects a gateway with the container of a customer who has granted it.
func (h *handlers) guest(ctx context.Context, from solana.PublicKey, req messages.GuestRequest, accept func(messages.GuestAnswer) (net.Conn, error)) error {
	return h.connect(ctx, accept, func(accept func() (io.ReadWriter, error)) error { return h.leases.Guest(ctx, from, req, accept) })
}

// connect handles a request for access to a container; visit decides whether it is granted.
func (h *handlers) connect(ctx context.Context, accept func(messages.GuestAnswer) (net.Conn, error), visit func(accept func() (io.ReadWriter, error)) error) error {
	accepted := false
	err := visit(func() (io.ReadWriter, error) {
		accepted = true
		return accept(messages.GuestAnswer{Version: messages.Version})
	})
	if accepted {
		if err != nil && ctx.Err() == nil {
			h.log.Debug().Err(err).Msg("a way into a container ended")
		}
		return nil
	}
	why, err := h.refusal(err)
	if why != "" {
		_, err = accept(messages.GuestAnswer{Version: messages.Version, Refused: why})
	}
	return err
}

func (h *handlers) revoke(ctx context.Context, from solana.PublicKey, req messages.RevokeRequest) (messages.RevokeAnswer, error) {
	why, err := h.refusal(h.leases.Revoke(ctx, from, req))
	return messages.RevokeAnswer{Version: messages.Version, Refused: why}, err
}

// suspend keeps a customer's container for another lease.
func (h *handlers) suspend(ctx context.Context, from solana.PublicKey, req messages.SuspendRequest) (messages.SuspendAnswer, error) {
	answer, err := h.leases.Suspend(ctx, from, req)
	why, err := h.refusal(err)
	answer.Version, answer.Refused, answer.Failed = messages.Version, why, printable.Text(answer.Failed)
	return answer, err
}

func (h *handlers) offer(ctx context.Context, from solana.PublicKey, req messages.LeaseRequest) (messages.Receipt, error) {
	r, err := h.receipts.Offer(ctx, from, req.Lease)
	why, err := h.refusal(err)
	if why != "" {
		r = messages.Receipt{Version: messages.Version, Lease: req.Lease, Refused: why}
	}
	return r, err
}

func (h *handlers) signed(ctx context.Context, from solana.PublicKey, req messages.SignedReceipt) (messages.ReceiptAnswer, error) {
	why, err := h.refusal(h.receipts.Accept(ctx, from, req))
	return messages.ReceiptAnswer{Version: messages.Version, Refused: why}, err
}
