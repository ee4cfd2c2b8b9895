package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
)

// The node's side of its protocols. A keeper or customer on the other side needs the same id, version and sizes.
var (
	challengeProtocol = p2p.Protocol{
		ID: messages.Challenge, Version: messages.Version, MaxRequest: 4 << 10, MaxResponse: messages.MaxMessage,
		Timeout: 30 * time.Second, Rate: 20, Burst: 60, Concurrent: 64,
	}
	deployProtocol  = customer(messages.Deploy)
	statusProtocol  = customer(messages.Status)
	logsProtocol    = customer(messages.Logs)
	offerProtocol   = customer(messages.ReceiptOffer)
	receiptProtocol = customer(messages.ReceiptSigned)
)

func customer(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, Version: messages.Version, MaxRequest: 256 << 10, MaxResponse: 256 << 10, Rate: 20, Burst: 60, Concurrent: 128}
}

// handlers answers streams.
type handlers struct {
	desk    *challenge.Desk
	leases  *lease.Manager
	office  *receipt.Office
	silence string // simulation: while this file exists nothing is answered
	log     zerolog.Logger
}

// hushPoll is how often a held request looks whether the silence is over.
const hushPoll = 200 * time.Millisecond

// hushed holds a request without an answer while the node simulates silence. When the silence ends, what was held gets
// no answer either, but makes room.
func (h *handlers) hushed(ctx context.Context) error {
	silent := false
	for h.silence != "" {
		if _, err := os.Stat(h.silence); err != nil {
			break
		}
		silent = true
		t := time.NewTimer(hushPoll)
		select {
		case <-t.C:
			continue
		case <-ctx.Done():
			t.Stop()
		}
		break
	}
	if silent {
		return p2p.Refuse(p2p.CodeUnavailable, "")
	}
	return nil
}

func (h *handlers) serve(n *p2p.Node) {
	p2p.Handle(n, challengeProtocol, h.challenge)
	p2p.Handle(n, deployProtocol, h.deploy)
	p2p.Handle(n, statusProtocol, h.status)
	p2p.HandleStream(n, logsProtocol, h.logs)
	p2p.Handle(n, offerProtocol, h.offer)
	p2p.Handle(n, receiptProtocol, h.signed)
}

func (h *handlers) challenge(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	if err := h.hushed(ctx); err != nil {
		return messages.ChallengeResponse{}, err
	}
	resp, err := h.desk.Answer(ctx, from, req)
	var refused *challenge.RefusedError
	if errors.As(err, &refused) {
		return resp, p2p.Refuse(p2p.CodeRefused, "%s", refused.Why)
	}
	return resp, err
}

// refusal separates what the caller may read from trouble of the node's own.
func (h *handlers) refusal(err error) (string, error) {
	var refused *lease.RefusedError
	if errors.As(err, &refused) {
		return refused.Why, nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		h.log.Warn().Err(err).Msg("request of a customer failed")
	}
	return "", err
}

func (h *handlers) deploy(ctx context.Context, from solana.PublicKey, req messages.DeployRequest) (messages.LeaseAnswer, error) {
	if err := h.hushed(ctx); err != nil {
		return messages.LeaseAnswer{}, err
	}
	st, err := h.leases.Deploy(ctx, from, req)
	var refused *lease.RefusedError
	unknown := errors.As(err, &refused) && refused.Unknown
	why, err := h.refusal(err)
	return messages.LeaseAnswer{Version: messages.Version, Status: st, Refused: why, Unknown: unknown}, err
}

func (h *handlers) status(ctx context.Context, from solana.PublicKey, req messages.LeaseRequest) (messages.LeaseAnswer, error) {
	if err := h.hushed(ctx); err != nil {
		return messages.LeaseAnswer{}, err
	}
	st, err := h.leases.Status(ctx, from, req.Lease)
	why, err := h.refusal(err)
	return messages.LeaseAnswer{Version: messages.Version, Status: st, Refused: why}, err
}

func (h *handlers) logs(ctx context.Context, from solana.PublicKey, req messages.LogsRequest, send func(messages.LogChunk) error) error {
	if err := h.hushed(ctx); err != nil {
		return err
	}
	err := h.leases.Logs(ctx, from, req, send)
	why, err := h.refusal(err)
	if why != "" {
		return send(messages.LogChunk{Offset: req.Offset, End: true, Refused: why})
	}
	return err
}

func (h *handlers) offer(ctx context.Context, from solana.PublicKey, req messages.LeaseRequest) (messages.Receipt, error) {
	if err := h.hushed(ctx); err != nil {
		return messages.Receipt{}, err
	}
	r, err := h.office.Offer(ctx, from, req.Lease)
	why, err := h.refusal(err)
	if why != "" {
		r = messages.Receipt{Version: messages.Version, Lease: req.Lease, Refused: why}
	}
	return r, err
}

func (h *handlers) signed(ctx context.Context, from solana.PublicKey, req messages.SignedReceipt) (messages.ReceiptAnswer, error) {
	if err := h.hushed(ctx); err != nil {
		return messages.ReceiptAnswer{}, err
	}
	why, err := h.refusal(h.office.Accept(ctx, from, req))
	return messages.ReceiptAnswer{Version: messages.Version, Refused: why}, err
}
