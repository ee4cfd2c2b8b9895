package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// drawn is a draw of a GPU and what the machine answered last.
type drawn struct {
	gpu       uint8
	challenge [32]byte
	messages.MeasureOpening
}

// signed reports whether the machine has signed what it answered.
func (d *drawn) signed(key solana.PublicKey, commitment []byte) bool {
	o := records.NewOpening(commitment, d.challenge, d.gpu, uint8(d.Refused), d.Answer)
	return o.Verify(key, solana.Signature(d.Signature)) == nil
}

// openAll draws of each GPU and asks for it, for as long as openTries openings may take together. Error: *failure,
// the context's.
func (k *Asker) openAll(ctx context.Context, a Asked, line Line, c *collected) ([]drawn, error) {
	until := time.Now().Add(openTries * k.o.Wait)
	all := make([]drawn, len(a.GPUs))
	for i, asked := range a.GPUs {
		all[i].gpu = asked.GPU
		if _, err := io.ReadFull(k.o.Rand, all[i].challenge[:]); err != nil {
			return nil, fail(Unknown, fmt.Errorf("there is no randomness: %w", err))
		}
		err := k.ask(ctx, until, line, &all[i], c.again())
		if err == nil && !all[i].signed(a.Key, c.commitment.Commitment) {
			err = fail(Wrong, fmt.Errorf("%w: it does not sign its answer for GPU %d", ErrUnopened, asked.GPU))
		}
		c.drawn = append(c.drawn, all[i])
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// verify checks what a machine has opened of a GPU. Error: *failure, the context's.
func (k *Asker) verify(ctx context.Context, a Asked, c *collected, i int, commitment format.Commitment, d drawn) error {
	asked, entry := a.GPUs[i], c.signed.Entries[i]
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	task := format.NewTask(a.Place, asked.GPU, asked.Profile)
	v, err := format.NewVerifier(task, k.columnsOf(a.Place, asked.Profile.Order), entry, c.roots[i])
	if err != nil {
		return fail(Unknown, err)
	}
	switch err := v.Verify(ctx, format.NewDraw(d.challenge, asked.GPU, commitment), d.Answer); {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return fail(Wrong, err)
	}
}

// ask asks for an opening until it comes, and keeps what came. A machine that can be reached and opens nothing of what it has
// signed is wrong, unless the reason that it names says nothing about it.
func (k *Asker) ask(ctx context.Context, until time.Time, line Line, d *drawn, lost bool) error {
	last := errors.New("the time is over")
	for try := range openTries {
		late := !time.Now().Before(until)
		if try > 0 || late { // a machine that is away now is not blamed
			if err := renew(ctx, line); err != nil {
				return err
			}
		}
		if late {
			break
		}
		octx, cancel := context.WithTimeout(ctx, min(k.o.Wait, time.Until(until)))
		resp, err := line.Open(octx, d.gpu, d.challenge)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			d.MeasureOpening = resp
			return unopened(resp.Refused, lost)
		}
		f := ofCall(err)
		switch f.outcome {
		case Wrong:
			return f
		case Refused:
			return fail(Wrong, fmt.Errorf("%w: %w", ErrUnopened, err))
		}
		last = err
	}
	return fail(Wrong, fmt.Errorf("%w: %w", ErrUnopened, last))
}

// unopened is what a machine's refusal to open its commitment means; nil where it did not refuse. A machine whose agent
// started again before its commitment came may have nothing to open. Error: *failure.
func unopened(why messages.MeasureRefusal, lost bool) error {
	if why == 0 {
		return nil
	}
	err := fmt.Errorf("%w: %w", ErrUnopened, &RefusedError{why})
	if lost && (why == messages.MeasureOver || why == messages.MeasureBlock) {
		return fail(Unknown, fmt.Errorf("%w, and its run is over: %w", ErrLost, err))
	}
	return fail(Wrong, err)
}

// renewWait is how long a new connection may take.
const renewWait = 10 * time.Second

// renew replaces the connection. A machine that cannot be reached any more is unknown: liveness says whether it is away.
func renew(ctx context.Context, line Line) error {
	ctx, cancel := context.WithTimeout(ctx, renewWait)
	defer cancel()
	if err := line.Renew(ctx); err != nil {
		return fail(Unknown, fmt.Errorf("%w: %w", ErrLost, err))
	}
	return nil
}

// columnsOf derives the keys of B once for all nodes of a period.
func (k *Asker) columnsOf(p format.Place, order uint32) *format.Columns {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.columns == nil || k.period != p.Instant {
		k.period, k.columns = p.Instant, map[uint32]*format.Columns{}
	}
	if k.columns[order] == nil {
		k.columns[order] = format.NewColumns(p.ColumnSeed(order), order)
	}
	return k.columns[order]
}
