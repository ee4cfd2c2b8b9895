package buy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Sender sends transactions. Each stands in a store first, so that one whose process dies is known to the next.
type Sender struct {
	Client *chain.Client
	Signer txm.Signer
	Fees   txm.Fees
	Log    zerolog.Logger
	// Sponsor pays fees, and the rent that the signer has no SOL for; nil where the signer pays.
	Sponsor *sponsor.Client
	// Waiting is told that a transaction is waited for; nil for nothing.
	Waiting func(Wait) (stop func())
}

func (b *Buyer) sender() *Sender {
	return &Sender{Client: b.client, Signer: b.signer, Fees: b.o.Fees, Log: b.log, Waiting: b.waiting, Sponsor: b.o.Sponsor}
}

// Open opens a transaction manager on a store of its own. Outcomes are kept for a time; 0 for the manager's default.
// The returned function closes both; keep leaves the file.
func (s *Sender) Open(ctx context.Context, path string, retain time.Duration) (m *txm.Manager, closeBoth func(keep bool), err error) {
	m, end, err := s.OpenFor(ctx, path, txm.Options{Keys: keyring{s}, Payer: s.Signer.PublicKey(), Retain: retain})
	if err != nil {
		return nil, nil, err
	}
	return m, func(keep bool) {
		end()
		if !keep {
			_ = os.Remove(path)
		}
	}, nil
}

// OpenFor opens a transaction manager on a store of its own; o says for which keys. The returned function closes both.
func (s *Sender) OpenFor(ctx context.Context, path string, o txm.Options) (m *txm.Manager, end func(), err error) {
	genesis, err := s.Client.Genesis(ctx)
	if err != nil {
		return nil, nil, err
	}
	store, err := txm.OpenStore(path, genesis)
	if err != nil {
		return nil, nil, err
	}
	o.RPC, o.Store, o.Commitment, o.Log, o.Fees = s.Client, store, s.Client.WaitLevel(), s.Log, s.Fees
	if m, err = txm.New(o); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, func() {
		m.Close()
		_ = store.Close() // what is stored is synced already
	}, nil
}

// Unknown reports whether a transaction was signed and its outcome is not known.
func Unknown(m *txm.Manager, id string) bool {
	e, err := m.Get(id)
	return err == nil && e.Current != nil && !e.State.Terminal()
}

// NewIntent is a transaction of instructions, with a name of its own.
func NewIntent(kind string, ixs []solana.Instruction, extra ...txm.Signer) (txm.Intent, error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return txm.Intent{}, fmt.Errorf("random number: %w", err)
	}
	return txm.Intent{ID: kind + "-" + hex.EncodeToString(id), Kind: kind, Instructions: ixs, ExtraSigners: extra}, nil
}

// Send sends one transaction and waits for it. Its store is in the folder as long as it may still take effect.
func (s *Sender) Send(ctx context.Context, f *purchase.Folder, in txm.Intent) (service.Sent, error) {
	m, closeBoth, err := s.Open(ctx, filepath.Join(f.Transactions(), in.ID+".db"), 0)
	if err != nil {
		return service.Sent{}, err
	}
	out, err := s.Submit(ctx, m, in)
	// What may still take effect stays, so that the next process can say what became of it.
	closeBoth(err != nil && Unknown(m, in.ID))
	return out, err
}

// keyring has the sender's key, and those of its sponsor.
type keyring struct{ s *Sender }

// Signer implements txm.Keyring.
func (k keyring) Signer(key solana.PublicKey) (txm.Signer, bool) {
	switch {
	case key == k.s.Signer.PublicKey():
		return k.s.Signer, true
	case k.s.Sponsor != nil:
		return k.s.Sponsor.Signer(key)
	}
	return nil, false
}

// paid has the sponsor pay an intent, where there is one. An intent that an earlier command has begun stays as it is.
func (s *Sender) paid(ctx context.Context, m *txm.Manager, in txm.Intent) (txm.Intent, error) {
	out, begun := s.Sponsor.Begun(m, in)
	if begun || s.Sponsor == nil {
		return out, nil
	}
	return s.Sponsor.Pay(ctx, s.Client, m, in, s.Signer.PublicKey())
}

// Submit carries an intent to its end. When ctx ends before, the error says what is known.
func (s *Sender) Submit(ctx context.Context, m *txm.Manager, in txm.Intent) (service.Sent, error) {
	in, err := s.paid(ctx, m, in)
	if err != nil {
		return service.Sent{}, market.Explain(err)
	}
	stop := func() {}
	if s.Waiting != nil {
		stop = s.Waiting(Wait{For: WaitConfirmed, Kind: in.Kind})
	}
	res, err := m.Submit(ctx, in)
	stop()
	if err != nil {
		return service.Sent{}, s.interruptedAt(ctx, m, in, err)
	}
	out := service.Sent{Kind: in.Kind, Slot: res.Slot, Units: res.Units}
	if !res.Signature.IsZero() {
		out.Signature = res.Signature.String()
	}
	if e, err := s.Client.Explorer(ctx); err == nil {
		out.Explorer = e.Tx(res.Signature)
	}
	return out, nil
}

// DryRun finds what an intent would do, with a store that is gone afterwards.
func (s *Sender) DryRun(ctx context.Context, path string, in txm.Intent) (d txm.DryRun, err error) {
	m, closeBoth, err := s.Open(ctx, path, 0)
	if err != nil {
		return d, err
	}
	defer closeBoth(false)
	if in, err = s.paid(ctx, m, in); err == nil {
		d, err = m.DryRun(ctx, in)
	}
	if err != nil {
		return d, market.Explain(err)
	}
	return d, nil
}

// interruptedAt adds the state of the transaction to the error of a call whose context ended.
func (s *Sender) interruptedAt(ctx context.Context, m *txm.Manager, in txm.Intent, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return market.Explain(err)
	}
	r, gerr := m.Get(in.ID)
	if gerr != nil || r.Current == nil {
		return interrupted("interrupted before "+in.Kind+" was sent", "nothing has changed")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if st, serr := s.Client.Statuses(ctx, []solana.Signature{r.Current.Signature}, true); serr == nil && st[0].Found {
		if st[0].Err != nil {
			return interrupted(in.Kind+" was refused", "nothing has changed (transaction "+r.Current.Signature.String()+")")
		}
		return interrupted(in.Kind+" took effect", "transaction "+r.Current.Signature.String())
	}
	return interrupted(in.Kind+" was sent and is not confirmed yet; it may still take effect for about a minute",
		"look at it with: solana confirm "+r.Current.Signature.String())
}

// sendOne sends a single instruction as builders return it.
func (b *Buyer) sendOne(ctx context.Context, kind string, ix solana.Instruction, err error) (service.Sent, error) {
	if err != nil {
		return service.Sent{}, err
	}
	in, err := NewIntent(kind, []solana.Instruction{ix})
	if err != nil {
		return service.Sent{}, err
	}
	if b.o.DryRun {
		return service.Sent{}, b.simulate(ctx, in)
	}
	return b.sender().Send(ctx, b.folder, in)
}

// simulate reports what a transaction would do, and sends nothing. Error: [ErrSimulated] where it would take effect.
func (b *Buyer) simulate(ctx context.Context, in txm.Intent) error {
	result, err := b.sender().DryRun(ctx, filepath.Join(b.folder.Transactions(), in.ID+".db"), in)
	if err != nil {
		return err
	}
	b.tell(Simulated{Kind: in.Kind, Result: result})
	return ErrSimulated
}
