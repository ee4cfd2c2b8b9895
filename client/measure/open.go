package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/messages"
)

// drawn is a draw of a GPU and what the node answered.
type drawn struct {
	challenge [32]byte
	answer    []byte
}

// openAll draws of each GPU and asks for it, for as long as openTries openings may take together. lost says that the
// stream was lost before the commitment came: the machine may have committed long before. Error: *failure, the context's.
func (k *Asker) openAll(ctx context.Context, a Asked, line Line, lost bool) ([]drawn, error) {
	until := time.Now().Add(openTries * k.o.Wait)
	all := make([]drawn, len(a.GPUs))
	for i, asked := range a.GPUs {
		if _, err := io.ReadFull(k.o.Rand, all[i].challenge[:]); err != nil {
			return nil, fail(Unknown, fmt.Errorf("there is no randomness: %w", err))
		}
		answer, err := k.ask(ctx, until, line, asked.GPU, all[i].challenge, lost)
		if err != nil {
			return nil, err
		}
		all[i].answer = answer
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
	switch err := v.Verify(ctx, format.NewDraw(d.challenge, asked.GPU, commitment), d.answer); {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	default:
		return fail(Wrong, err)
	}
}

// ask asks for an opening until it comes. A machine that can be reached and opens nothing of what it has signed is wrong.
func (k *Asker) ask(ctx context.Context, until time.Time, line Line, gpu uint8, challenge [32]byte, lost bool) ([]byte, error) {
	last := errors.New("the time is over")
	for try := range openTries {
		late := !time.Now().Before(until)
		if try > 0 || late { // a machine that is away now is not blamed
			if err := renew(ctx, line); err != nil {
				return nil, err
			}
		}
		if late {
			break
		}
		octx, cancel := context.WithTimeout(ctx, min(k.o.Wait, time.Until(until)))
		resp, err := line.Open(octx, gpu, challenge)
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
