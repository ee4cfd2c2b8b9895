package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// leastSkip is what is shorter to wait for than to skip.
const leastSkip = 3 * time.Second

// cooldowns are the waits at the end in which nothing happens: of stakes and bonds, and of claims for slashed stake.
type cooldowns struct {
	// alone is closed when nothing but such waits is left.
	alone chan struct{}
	// moving is held while the clock is moved.
	moving sync.Mutex
}

// coolDown waits until the chain's clock has reached the unix second. Once only such waits are left it moves the clock there, if
// the engine can. The program compares with the clock all the same.
func (d *demo) coolDown(ctx context.Context, unix int64) error {
	for {
		left, err := d.leftUntil(ctx, unix)
		if err != nil || left <= 0 {
			return err
		}
		select {
		case <-d.cooldowns.alone:
			if left >= leastSkip {
				if err := d.skipTo(ctx, unix); err != nil {
					return err
				}
			}
			return d.chainPasses(ctx, unix)
		default:
		}
		if err := wait.For(ctx, min(left, 200*time.Millisecond)); err != nil {
			return err
		}
	}
}

// leftUntil is how far the chain's clock is from a unix second.
func (d *demo) leftUntil(ctx context.Context, unix int64) (time.Duration, error) {
	now, err := d.net.Chain.ClusterTime(ctx, chain.Confirmed)
	return time.Duration(unix-now.Unix()) * time.Second, err
}

// skipTo moves the chain's clock to a unix second, if the engine can and the clock is not there yet.
func (d *demo) skipTo(ctx context.Context, unix int64) error {
	d.cooldowns.moving.Lock()
	defer d.cooldowns.moving.Unlock()
	left, err := d.leftUntil(ctx, unix)
	if err != nil || left < leastSkip {
		return err
	}
	switch err := d.net.TravelTo(ctx, time.Unix(unix, 0)); {
	case errors.Is(err, engine.ErrUnsupported):
		return nil
	case err != nil:
		return err
	}
	d.facts.note(func(s *scene) { s.skipped += left })
	d.out.begin(fmt.Sprintf("only cool-downs are left: the node's clock moves %s ahead", left), "the program waits for its clock")
	return nil
}

// settleSlashes waits until all claims for slashed stake are over, and closes what is left of them, as anyone may. Keepers do so as well,
// by a clock that they compare with the chain's twice a minute.
func (d *demo) settleSlashes(ctx context.Context) error {
	for _, f := range d.view.Faults() {
		if f.PoolLeft > 0 {
			if err := d.coolDown(ctx, f.ClaimsUntil); err != nil {
				return err
			}
		}
		instruction, err := ix.SlashClose(f, d.net.Mints().Stake)
		if err := d.closeOff(ctx, "close the fault", f.Address, instruction, err); err != nil {
			return err
		}
	}
	for _, o := range outages(d.view) {
		end := o.OpenedAt + market.OutageVoteSecs
		if o.SeenAt != 0 {
			end = o.SeenAt + market.OutageMoveSecs
		}
		if err := d.coolDown(ctx, end+1); err != nil {
			return err
		}
		instruction, err := ix.OutageClose(o)
		if err := d.closeOff(ctx, "close the outage", o.Address, instruction, err); err != nil {
			return err
		}
	}
	for _, p := range d.view.Payouts() {
		if err := d.coolDown(ctx, p.PayableAt); err != nil {
			return err
		}
		faucet, mint := d.net.Keys.Faucet, d.net.Mints().Stake
		instruction, err := ix.PayoutClaim(p, mint)
		if err := d.closeOff(ctx, "pay out", p.Address, instruction, err, ix.CreateTokenAccount(faucet.Address(), p.Beneficiary, mint)); err != nil {
			return err
		}
	}
	return nil
}

// closeOff sends an instruction that closes an account, if it is still there. Refused because a keeper was faster is as good.
func (d *demo) closeOff(ctx context.Context, what string, account solana.PublicKey, closing solana.Instruction, err error, before ...solana.Instruction) error {
	if err != nil {
		return err
	}
	gone := func() bool {
		_, err := d.net.Chain.Account(ctx, account, chain.Confirmed)
		return errors.Is(err, chain.ErrAccountNotFound)
	}
	if gone() {
		return nil
	}
	if _, err := d.net.Sender().Send(ctx, d.net.Keys.Faucet.Key, nil, append(before, closing)...); err != nil && !gone() {
		return fmt.Errorf("%s %s: %w", what, short(account), err)
	}
	return nil
}
