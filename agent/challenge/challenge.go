// Package challenge answers keepers: is the node up and how are its leases, what does it have, can it compute what it
// claims, and what can it prove.
//
// Only keepers that are registered on chain are answered. A work proof is computed by one worker, one after the other
// in the order of the questions, at most one waiting for each keeper: so keepers that ask at the same time are all
// served, and none can take another's place. The worker gives up on a proof that can no longer be in time.
package challenge

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// RefusedError is the error of a request that is not answered at all; its text may be shown to the caller.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Policy is what the market asks of a work proof for this node's GPU model.
type Policy struct {
	// Size is the order of the product.
	Size uint32
	// Bound is the longest it may take.
	Bound time.Duration
}

// Options of a Desk. All but Now are required.
type Options struct {
	// Node is the node account.
	Node   solana.PublicKey
	Domain records.Domain
	// IsKeeper says whether a key is a registered keeper's wallet.
	IsKeeper func(solana.PublicKey) bool
	// Statuses are those of all live leases.
	Statuses func() []messages.LeaseStatus
	// Busy says whether a lease is live, so that a work proof must not take the GPUs from it.
	Busy func() bool
	// Inventory reads what the node has now.
	Inventory func(context.Context) (messages.Inventory, error)
	// Policy is false while the node's GPU model is not known.
	Policy func() (Policy, bool)
	// Period is the length of a report period; false while the market is not known.
	Period func() (time.Duration, bool)
	Prover work.Prover
	// Evidence collects an encoded bundle for a challenge, with a keeper's statement about the TPM if there is one; nil
	// means that this node shows none.
	Evidence func(ctx context.Context, c attest.Challenge, tpmStatement []byte) ([]byte, error)
	// TPM is the machine's, nil without one.
	TPM TPM
	// Signer is the machine's own key: it signs what its work proofs commit to.
	Signer records.Signer
	// Genesis is the cluster's hash; used with Evidence.
	Genesis [32]byte
	Store   *store.Store
	Log     zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Desk answers challenges.
type Desk struct {
	o     Options
	since time.Time
	queue *queue // of work
	desk  *queue // of evidence, which takes longer, so that no work proof waits for it
	count counts
}

// New checks the options. Run must be called for work proofs to be computed.
func New(o Options) (*Desk, error) {
	if o.Node.IsZero() || o.Domain.IsZero() || o.IsKeeper == nil || o.Statuses == nil || o.Busy == nil || o.Inventory == nil ||
		o.Policy == nil || o.Period == nil || o.Prover == nil || o.Store == nil || o.Signer == nil {
		return nil, errors.New("challenge: an option is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Desk{o: o, since: o.Now(), queue: newQueue(), desk: newQueue()}, nil
}

// Run computes work proofs and collects evidence until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.queue.run(ctx) })
	g.Go(func() error { return d.desk.run(ctx) })
	return g.Wait()
}

// InTurn has f run alone on the machine that proves work, in turn with what keepers ask for. Errors: f's, the context's,
// and that something else of the node's own is being computed already.
func (d *Desk) InTurn(ctx context.Context, f func(context.Context) error) error {
	return d.queue.do(ctx, d.o.Signer.PublicKey(), func(ctx context.Context) error {
		if d.o.Busy() {
			return errBusy
		}
		return f(ctx)
	})
}

// Answer answers one challenge. Error: *RefusedError for a caller or a question that is none of this node's business.
func (d *Desk) Answer(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	resp := messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce}
	if req.Version != messages.Version {
		return resp, &RefusedError{Why: "this node speaks another version"}
	}
	if !d.o.IsKeeper(from) {
		return resp, &RefusedError{Why: "only keepers may ask"}
	}
	if solana.PublicKey(req.Node) != d.o.Node {
		return resp, &RefusedError{Why: "this is another node"}
	}
	switch req.Kind {
	case messages.CheckLiveness:
		resp.Liveness = d.liveness()
		d.count.add(req.Kind, true)
	case messages.CheckInventory:
		inv, err := d.o.Inventory(ctx)
		if err != nil {
			d.o.Log.Warn().Err(err).Msg("inventory cannot be read")
			resp.Refused = "the inventory cannot be read"
		} else {
			resp.Inventory = &inv
		}
		d.count.add(req.Kind, err == nil)
	case messages.CheckWork:
		proof, why := d.work(ctx, from, req)
		resp.Work, resp.Refused = proof, why
		d.count.add(req.Kind, proof != nil)
	case messages.CheckEvidence:
		if req.TPM != nil {
			resp.TPM, resp.Refused = d.enrol(ctx, from, req.TPM)
			break
		}
		resp.Evidence, resp.Refused = d.evidence(ctx, from, req)
		d.count.add(req.Kind, len(resp.Evidence) > 0)
	default:
		resp.Refused = "this node has no answer to this kind of question"
	}
	return resp, nil
}

func (d *Desk) liveness() *messages.Liveness {
	now := d.o.Now()
	leases := d.o.Statuses()
	if leases == nil {
		leases = []messages.LeaseStatus{}
	}
	return &messages.Liveness{UnixTime: now.Unix(), UpSeconds: uint64(max(0, now.Sub(d.since)/time.Second)), Leases: leases}
}
