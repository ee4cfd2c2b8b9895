package dispute

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Protocols of answers. Anybody may bring one: it is taken only with the signature of the lease's node or of its
// provider's wallet, while the dispute is open.
var (
	PutAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerPut, MaxRequest: messages.MaxAnswer + 1<<10, MaxResponse: 1 << 10,
		Rate: 1, Burst: 8, Concurrent: 8, Public: true,
	}
	GetAnswerProtocol = p2p.Protocol{
		ID: messages.AnswerGet, MaxRequest: 1 << 10, MaxResponse: messages.MaxAnswer + 1<<10,
		Rate: 1, Burst: 8, Concurrent: 8, Public: true,
	}
)

// answerAhead is how far the writer's clock may be ahead.
const answerAhead = time.Minute

// Answers is a folder with what providers say to open disputes: LEASE.answer, one of each.
type Answers struct {
	o  AnswerOptions
	mu sync.Mutex // one is written at a time
}

// AnswerOptions of Answers; all but Log are required.
type AnswerOptions struct {
	Dir    string
	View   View
	Domain records.Domain
	Log    zerolog.Logger
	Now    func() time.Time
}

// OpenAnswers opens or makes the folder. Error: options.ErrMissing.
func OpenAnswers(o AnswerOptions) (*Answers, error) {
	if err := options.Complete("answers", o, "Log"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return &Answers{o: o}, nil
}

func (a *Answers) path(lease solana.PublicKey) string {
	return filepath.Join(a.o.Dir, lease.String()+".answer")
}

// Get returns the newest answer to the dispute of a lease that is here.
func (a *Answers) Get(lease solana.PublicKey) (messages.AnswerUpload, bool) {
	var out messages.AnswerUpload
	info, err := os.Stat(a.path(lease))
	if err != nil || info.Size() > messages.MaxAnswer+1<<10 {
		return out, false
	}
	raw, err := os.ReadFile(a.path(lease))
	return out, err == nil && cbor.Unmarshal(raw, &out) == nil && a.check(out) == nil
}

var (
	errAnswerSize   = fmt.Errorf("an answer has 1 to %d bytes", messages.MaxAnswer)
	errAnswerTime   = errors.New("the answer is from the future")
	errAnswerSigner = errors.New("neither the lease's node nor its provider's wallet has signed this answer to the open dispute")
)

// check reports whether an answer is one of the party that is accused, to the dispute that is open.
func (a *Answers) check(m messages.AnswerUpload) error {
	var node, wallet solana.PublicKey
	open := false
	a.o.View.Read(func(v *view.Accounts) {
		d, l := v.Disputes[market.DisputeAddress(m.Lease)], v.Leases[m.Lease]
		if d == nil || l == nil || d.OpenedAt != m.OpenedAt {
			return
		}
		open, node = true, l.NodeKey
		if p := v.Providers[l.Provider]; p != nil {
			wallet = p.Wallet
		}
	})
	key := solana.PublicKey(m.Key)
	record := records.Answer{Domain: a.o.Domain, Lease: m.Lease, OpenedAt: m.OpenedAt, WrittenAt: m.WrittenAt, Text: sha256.Sum256(m.Data)}
	switch {
	case !open:
		return errNoDispute
	case len(m.Data) == 0 || len(m.Data) > messages.MaxAnswer:
		return errAnswerSize
	case m.WrittenAt > a.o.Now().Add(answerAhead).Unix():
		return errAnswerTime
	case key.IsZero() || key != node && key != wallet || record.Verify(key, m.Signature) != nil:
		return errAnswerSigner
	}
	return nil
}

// Put keeps an answer in place of an older one.
func (a *Answers) Put(m messages.AnswerUpload) error {
	if err := a.check(m); err != nil {
		return err
	}
	raw, err := cbor.Marshal(m)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if have, ok := a.Get(m.Lease); ok && have.WrittenAt >= m.WrittenAt {
		return nil
	}
	if err := atomicfile.Write(a.path(m.Lease), raw); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	a.o.Log.Info().Stringer("lease", solana.PublicKey(m.Lease)).Int("bytes", len(m.Data)).
		Msg("provider has answered a dispute; its operator reads both sides with: gantry dispute read LEASE")
	return nil
}

// Join answers peers that bring answers or ask for them.
func (a *Answers) Join(n *p2p.Node) {
	p2p.Handle(n, PutAnswerProtocol, a.take)
	p2p.Handle(n, GetAnswerProtocol, a.give)
}

func (a *Answers) take(_ context.Context, _ solana.PublicKey, req messages.AnswerUpload) (messages.Answer, error) {
	err := a.Put(req)
	for _, refusal := range []error{errNoDispute, errAnswerSize, errAnswerTime, errAnswerSigner} {
		if errors.Is(err, refusal) {
			return messages.Answer{}, p2p.Refuse(p2p.CodeRefused, "%v", err)
		}
	}
	return messages.Answer{Version: messages.Version}, err
}

func (a *Answers) give(_ context.Context, _ solana.PublicKey, req messages.AnswerRequest) (messages.Answer, error) {
	out := messages.Answer{Version: messages.Version}
	if have, ok := a.Get(req.Lease); ok && have.WrittenAt > req.After {
		out.Answer = &have
	}
	return out, nil
}

// Fetch asks another keeper for newer answers to each open dispute, every interval until ctx ends, each keeper in turn.
func (a *Answers) Fetch(ctx context.Context, n *p2p.Node, interval time.Duration) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
		var open, keepers []solana.PublicKey
		a.o.View.Read(func(v *view.Accounts) {
			for _, d := range v.Disputes {
				open = append(open, d.Lease)
			}
			for wallet := range v.Keepers {
				if wallet != n.Key() {
					keepers = append(keepers, wallet)
				}
			}
		})
		if len(keepers) == 0 {
			continue
		}
		slices.SortFunc(keepers, func(x, y solana.PublicKey) int { return bytes.Compare(x[:], y[:]) })
		for _, lease := range open {
			if err := a.fetch(ctx, n, keepers[turn%len(keepers)], lease); err != nil {
				a.o.Log.Debug().Err(err).Stringer("lease", lease).Msg("keeper gives no answer of the provider")
			}
		}
	}
}

func (a *Answers) fetch(ctx context.Context, n *p2p.Node, keeper, lease solana.PublicKey) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	req := messages.AnswerRequest{Version: messages.Version, Lease: lease}
	if have, ok := a.Get(lease); ok {
		req.After = have.WrittenAt
	}
	got, err := p2p.Call[messages.AnswerRequest, messages.Answer](ctx, n, keeper, GetAnswerProtocol, req)
	if err != nil || got.Answer == nil {
		return err
	}
	if got.Answer.Lease != lease {
		return errNotIt
	}
	return a.Put(*got.Answer)
}

// Prune drops the answers to disputes that are over.
func (a *Answers) Prune() error {
	entries, err := os.ReadDir(a.o.Dir)
	if err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	keep := map[string]bool{}
	a.o.View.Read(func(v *view.Accounts) {
		for _, d := range v.Disputes {
			keep[filepath.Base(a.path(d.Lease))] = true
		}
	})
	for _, e := range entries {
		if !keep[strings.TrimSuffix(e.Name(), ".new")] {
			err = errors.Join(err, os.Remove(filepath.Join(a.o.Dir, e.Name())))
		}
	}
	return err
}
