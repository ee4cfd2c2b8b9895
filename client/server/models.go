package server

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// SpendForModels lets the tools of language models buy with the account, at most a budget in total, until end is called,
// which waits for purchases.
func (a *Account) SpendForModels(ctx context.Context, o *mcp.Options, most market.USDC) (end func() error, err error) {
	if o.Budget, err = mcp.OpenBudget(filepath.Join(a.folder.Dir(), "mcp.db"), a.Key.PublicKey(), most); err != nil {
		return nil, err
	}
	var endInspections func()
	a.Inspections, endInspections = buy.NewInspections(ctx)
	o.Inspections, o.Attestations = a.Inspections, a
	endAttending := func() {}
	closeAll := func() error {
		endAttending()
		endInspections()
		return o.Budget.Close()
	}
	by, err := a.acting(ctx, mcpPurchases)
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	endAttending = by.attend(ctx)
	b := &modelBuyer{*by}
	if err := a.Inspections.Resume(ctx, b.b, b.ours); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	within, err := mcp.WithinBudget(b, o.Budget, func(ctx context.Context, r service.QuoteRequest) (market.USDC, error) {
		q, err := a.Service.Quote(ctx, a.Customer, a.Key.PublicKey(), r)
		return q.Reserves(), err
	})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	o.Buyer = within
	var wait func()
	o.Purchases, wait = serve.NewPurchases(ctx, within)
	return func() error {
		wait()
		return closeAll()
	}, nil
}

// modelBuyer acts for a language model.
type modelBuyer struct{ buyer }

// Nothing implements mcp.Buyer.
func (b *modelBuyer) Nothing(name string) (bool, error) {
	return b.nothing(func(p *purchase.Purchase) bool { return p.Name == b.prefix+name })
}

// NothingOf implements mcp.Buyer.
func (b *modelBuyer) NothingOf(order solana.PublicKey) (bool, error) {
	return b.nothing(func(p *purchase.Purchase) bool { return p.Order == order })
}

// nothing reports whether the latest purchase that is meant came to nothing.
func (b *modelBuyer) nothing(meant func(*purchase.Purchase) bool) (bool, error) {
	all, err := b.b.Folder().All() // the latest first
	for i := range all {
		if meant(&all[i]) {
			return all[i].CameToNothing(), nil
		}
	}
	return err == nil, err // stored first: what is not stored was not sent
}

// Bought implements mcp.Buyer.
func (b *modelBuyer) Bought(order solana.PublicKey) (bool, error) {
	all, err := b.b.Folder().All()
	for i := range all {
		if all[i].Order == order {
			name := purchase.NameOf(all, &all[i])
			return len(name) > len(b.prefix) && strings.HasPrefix(name, b.prefix), nil
		}
	}
	return false, err
}

// Exec implements mcp.Buyer.
func (b *modelBuyer) Exec(ctx context.Context, lease solana.PublicKey, r mcp.ExecRequest) (mcp.ExecResult, error) {
	var out mcp.ExecResult
	client, end, err := b.login(ctx, lease, r.User)
	if err != nil {
		return out, err
	}
	defer end()
	stdout, stderr := &tail{most: r.Most}, &tail{most: r.Most}
	err = container.RunFor(ctx, client, r.Command, time.Duration(r.Seconds)*time.Second, stdout, stderr)
	if code, exited := container.ExitCode(err); exited {
		out.ExitCode = code
	} else if errors.Is(err, container.ErrLate) {
		out.TimedOut, out.ExitCode = true, -1
	} else {
		return out, err
	}
	out.Stdout, out.StdoutOmitted = stdout.text()
	out.Stderr, out.StderrOmitted = stderr.text()
	return out, nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	most int

	mu   sync.Mutex
	kept []byte
	gone uint64
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - t.most; over > 0 {
		t.gone += uint64(over)
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// text is what is kept, with bytes that are not UTF-8 replaced, and how many bytes were before it.
func (t *tail) text() (string, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept), "\uFFFD"), t.gone
}
