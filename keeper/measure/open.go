package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/client/messages"
)

// drawn is a member's draw of a GPU and what the node answered.
type drawn struct {
	challenge [32]byte
	answer    []byte
}

// openAll draws of each GPU and asks for it, for as long as openTries openings may take together. lost says that the
// stream was lost before the commitment came: the node may have committed long before. Error: *failure, the context's.
func (m *Member) openAll(ctx context.Context, n Node, at instant.Instant, lost bool) ([]drawn, error) {
	until := time.Now().Add(openTries * m.wait)
	all := make([]drawn, len(n.GPUs))
	for i, asked := range n.GPUs {
		if _, err := io.ReadFull(m.o.Rand, all[i].challenge[:]); err != nil {
			return nil, fail(Unknown, fmt.Errorf("the keeper has no randomness: %w", err))
		}
		answer, err := m.ask(ctx, until, n.Key, messages.MeasureOpenRequest{
			Version: messages.Version, Node: n.Account, Period: uint64(at.Period), GPU: asked.GPU, Challenge: all[i].challenge,
		}, lost)
		if err != nil {
			return nil, err
		}
		all[i].answer = answer
	}
	return all, nil
}

// verify checks what a node has opened of a GPU. Error: *failure, the context's.
func (m *Member) verify(ctx context.Context, n Node, at instant.Instant, c *collected, i int, commitment format.Commitment, d drawn) error {
	asked, entry := n.GPUs[i], c.signed.Entries[i]
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	place := format.Place{Domain: m.o.Domain, Instant: at.Seed, Node: n.Account}
	task := format.NewTask(place, asked.GPU, asked.Profile)
	v, err := format.NewVerifier(task, m.columnsOf(place, asked.Profile.Order), entry, c.roots[i])
	if err != nil {
		return fail(Unknown, err)
	}
	switch err := v.Verify(ctx, format.NewDraw(d.challenge, asked.GPU, commitment), d.answer); {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return fail(Wrong, err)
	}
}

// ask asks for an opening until it comes. A node that can be reached and opens nothing of what it has signed is wrong.
func (m *Member) ask(ctx context.Context, until time.Time, key solana.PublicKey, req messages.MeasureOpenRequest, lost bool) ([]byte, error) {
	last := errors.New("the time is over")
	for try := range openTries {
		late := !time.Now().Before(until)
		if try > 0 || late { // a machine that is away now is not blamed
			if err := m.renew(ctx, key); err != nil {
				return nil, err
			}
		}
		if late {
			break
		}
		octx, cancel := context.WithTimeout(ctx, min(m.wait, time.Until(until)))
		resp, err := m.o.Network.Open(octx, key, req)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && resp.Refused == messages.MeasureOver && lost:
			return nil, fail(Unknown, fmt.Errorf("%w, and its run is over", ErrLost))
		case err == nil && resp.Refused != 0:
			return nil, fail(Wrong, fmt.Errorf("%w: %w", ErrUnopened, &RefusedError{resp.Refused}))
		case err == nil:
			return resp.Answer, nil
		}
		f := ofCall(err)
		switch f.outcome {
		case Wrong:
			return nil, f
		case Refused:
			return nil, fail(Wrong, fmt.Errorf("%w: %w", ErrUnopened, err))
		}
		last = err
	}
	return nil, fail(Wrong, fmt.Errorf("%w: %w", ErrUnopened, last))
}

// renewWait is how long a new connection may take.
const renewWait = 10 * time.Second

// renew replaces the connection. A node that cannot be reached any more is unknown: liveness says whether it is away.
func (m *Member) renew(ctx context.Context, key solana.PublicKey) error {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	if err := m.o.Network.Renew(ctx, key); err != nil {
		return fail(Unknown, fmt.Errorf("%w: %w", ErrLost, err))
	}
	return nil
}

// columnsOf derives the keys of B once for all nodes of a period.
func (m *Member) columnsOf(p format.Place, order uint32) *format.Columns {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.columns == nil || m.period != p.Instant {
		m.period, m.columns = p.Instant, map[uint32]*format.Columns{}
	}
	if m.columns[order] == nil {
		m.columns[order] = format.NewColumns(p.ColumnSeed(order), order)
	}
	return m.columns[order]
}
