// Package challenge answers keepers' challenges: is the node up and how are its leases, what does it have, and what
// evidence does it have. How its GPUs are measured is in package measure.
//
// Only keepers that are registered on chain are answered, and customers who want evidence for a lease of theirs. Evidence
// is collected by one worker, one after the other in the order of the challenges, at most one waiting for each keeper, and
// one for all customers. Keepers that ask at the same time are all served, and none can take another's place.
package challenge

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// RefusedError is the error of a request that is not answered at all; its text may be shown to the caller.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Options of New. All but Evidence, TPM, Guest, Measured, Genesis, Tenant and Now are required.
type Options struct {
	// Node is the node account.
	Node   solana.PublicKey
	Domain records.Domain
	// MayChallenge says whether a key may ask for checks: roles.Challenge.
	MayChallenge func(solana.PublicKey) bool
	// Statuses are those of all live leases.
	Statuses func() []messages.LeaseStatus
	// Busy says whether a lease is live, so that nothing else must take the GPUs from it.
	Busy func() bool
	// Inventory reads what the node has now.
	Inventory func(context.Context) (messages.Inventory, error)
	// Evidence collects an encoded bundle for a challenge, with a keeper's statement about the TPM if there is one, and with more; nil
	// means that this node shows none.
	Evidence func(ctx context.Context, c attest.Challenge, tpmStatement []byte, more ...attest.Evidence) ([]byte, error)
	// Tenant is the digest of the job that was ordered, for a key of a live lease's customer; nil where customers are not answered. Error:
	// *RefusedError when it is not.
	Tenant func(ctx context.Context, key, lease solana.PublicKey) (job [32]byte, err error)
	// Measured is the measured guest of a lease, which it starts at the first call; nil for a node that starts none. Errors: ErrBoots,
	// *RefusedError.
	Measured func(ctx context.Context, lease solana.PublicKey) (Measured, error)
	// TPM is the machine's, nil without one.
	TPM TPM
	// Guest is this process's own key, which the evidence shows; nil where it shows none.
	Guest *guest.Key
	// Signer is the machine's own key.
	Signer records.Signer
	// Genesis is the cluster's hash; used with Evidence.
	Genesis [32]byte
	Log     zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Server answers challenges.
type Server struct {
	o             Options
	since         time.Time
	gpuQueue      *queue // of what computes on the GPUs
	evidenceQueue *queue
	customers     *customers
	count         counts
}

// New checks the options. Run must be called for evidence to be collected, and for anything to take its turn on the GPUs.
func New(o Options) (*Server, error) {
	if o.Node.IsZero() || o.Domain.IsZero() || o.MayChallenge == nil || o.Statuses == nil || o.Busy == nil || o.Inventory == nil ||
		o.Signer == nil {
		return nil, errors.New("challenge: node, domain, MayChallenge, Statuses, Busy, Inventory and signer are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{o: o, since: o.Now(), gpuQueue: newQueue(), evidenceQueue: newQueue(), customers: newCustomers()}, nil
}

// Run collects evidence, and runs what takes turns on the GPUs, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.gpuQueue.run(ctx) })
	g.Go(func() error { return s.evidenceQueue.run(ctx) })
	return g.Wait()
}

// Alone runs f when nothing else that is run so computes on the GPUs, one for each key at a time. Errors: f's, the context's,
// and that another computation for the key is in the queue already.
func (s *Server) Alone(ctx context.Context, key solana.PublicKey, f func(context.Context) error) error {
	return s.gpuQueue.do(ctx, key, f)
}

// Answer answers one challenge. Error: *RefusedError for a caller or a node that this server does not answer for.
func (s *Server) Answer(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	resp := messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce}
	if req.Version != messages.Version {
		return resp, &RefusedError{Why: "this node speaks another version"}
	}
	if !s.o.MayChallenge(from) {
		return resp, &RefusedError{Why: "only keepers may ask"}
	}
	if solana.PublicKey(req.Node) != s.o.Node {
		return resp, &RefusedError{Why: "this is another node"}
	}
	switch req.Kind {
	case messages.CheckLiveness:
		resp.Liveness = s.liveness()
		s.count.add(req.Kind, true)
	case messages.CheckInventory:
		inv, err := s.o.Inventory(ctx)
		if err != nil {
			s.o.Log.Warn().Err(err).Msg("the node cannot read its inventory")
			resp.Refused = "the inventory cannot be read"
		} else {
			resp.Inventory = &inv
		}
		s.count.add(req.Kind, err == nil)
	case messages.CheckEvidence:
		if req.TPM != nil {
			resp.TPM, resp.Refused = s.answerTPM(ctx, from, req.TPM)
			break
		}
		resp.Evidence, resp.Refused = s.answerEvidence(ctx, from, req)
		s.count.add(req.Kind, len(resp.Evidence) > 0)
	default:
		resp.Refused = "this node has no answer to this kind of question"
	}
	if s.o.Guest != nil && resp.Inventory != nil {
		resp.Guest = &messages.GuestSignature{Key: s.o.Guest.Public(), Signature: s.o.Guest.SignAnswer(resp.Nonce, resp.Vouched())}
	}
	resp.Refused = printable.Text(resp.Refused)
	return resp, nil
}

// errBusy: a lease is live.
var errBusy = errors.New(messages.LeaseLive)

func (s *Server) liveness() *messages.Liveness {
	now := s.o.Now()
	leases := s.o.Statuses()
	if leases == nil {
		leases = []messages.LeaseStatus{}
	}
	return &messages.Liveness{UnixTime: now.Unix(), UpSeconds: uint64(max(0, now.Sub(s.since)/time.Second)), Leases: leases}
}
