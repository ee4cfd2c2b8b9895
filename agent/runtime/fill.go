package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// fillRecord is what became of restoring what a job goes on from.
type fillRecord struct {
	Error string `json:"error,omitempty"`
	// Refused: trying again is of no use.
	Refused bool `json:"refused,omitempty"`
}

func (f fillRecord) err() error {
	switch {
	case f.Refused:
		return fmt.Errorf("%w: %s", ErrState, strings.ReplaceAll(f.Error, ErrState.Error()+": ", ""))
	case f.Error != "":
		return errors.New(f.Error)
	}
	return errors.New("runtime: what was restored is lost, because its supervisor was killed")
}

// Fill implements [Runtime]. The supervisor restores, and waits for [Process.Start]: it outlives the agent, and has the key.
func (p *Process) Fill(ctx context.Context, spec Spec) error {
	if err := p.Check(spec); err != nil {
		return err
	}
	d, err := p.dir(spec.LeaseID)
	if err != nil {
		return err
	}
	st, err := d.status()
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	case err == nil && st.Phase == Preparing:
		return p.awaitFilled(ctx, d)
	case err == nil && st.Phase != Created:
		return nil // the job is past that
	case spec.Backup == nil || spec.Backup.From == snapshot.Hash{}:
		return nil
	}
	if err := errors.Join(checkKey(spec), p.forget(d), reserveVolume(d, spec)); err != nil {
		return err
	}
	spec.Hold = true
	if err := p.launch(ctx, d, spec); err != nil {
		return err
	}
	return p.awaitFilled(ctx, d)
}

// awaitFilled waits for what the supervisor says.
func (p *Process) awaitFilled(ctx context.Context, d leaseDir) error {
	for begin := time.Now(); ; {
		st, err := d.status()
		if err != nil {
			return err
		}
		var f fillRecord
		said, err := readJSON(d.filled(), &f)
		switch {
		case err != nil:
			return err
		case st.Phase != Preparing && st.Phase != Created:
			return nil
		case said && f.Error == "" && st.Phase == Preparing:
			return nil
		case said && st.Phase == Created:
			return errors.Join(f.err(), p.forget(d))
		case st.Phase == Created && time.Since(begin) > startTimeout:
			return fmt.Errorf("runtime: supervisor of %s did not start: %s", filepath.Base(string(d)), d.lastLog())
		}
		if err := wait.For(ctx, statePoll); err != nil {
			return err
		}
	}
}

// begin lets a job run that was prepared, and reports whether there is one.
func (p *Process) begin(d leaseDir, spec Spec) (bool, error) {
	st, err := d.status()
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case st.Phase == Created:
		return false, p.forget(d)
	case st.Phase != Preparing:
		return false, nil
	}
	return true, errors.Join(d.write(d.wall(), wallRequest{Wall: spec.Limits.Wall}), d.write(d.begin(), struct{}{}))
}

// forget removes what is left of a job that was prepared, never ran, and whose supervisor is gone.
func (p *Process) forget(d leaseDir) error {
	st, err := d.status()
	if errors.Is(err, ErrNotFound) || (err == nil && (!st.Spec.Hold || st.Phase != Created)) {
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(d.killLeftovers(), p.detachNetwork(d, st.LeaseID), d.removeVolume(), os.RemoveAll(d.sandboxState()))
	removeGroups(st.LeaseID)
	for _, path := range []string{
		d.run(), d.exit(), d.stop(), d.filled(), d.snapshot(), d.suspend(), d.suspended(), d.log(Stdout), d.log(Stderr), d.log(Output), d.spec(),
	} {
		if rerr := os.Remove(path); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("runtime: %w", rerr))
		}
	}
	return err
}

// awaitGone waits until the supervisor of a job that never ran has ended, and removes what it has left.
func (p *Process) awaitGone(ctx context.Context, d leaseDir) (Status, error) {
	for {
		st, err := d.status()
		if err != nil {
			return st, err
		}
		if st.Phase != Preparing {
			return st, p.forget(d)
		}
		if err := wait.For(ctx, statePoll); err != nil {
			return st, err
		}
	}
}
