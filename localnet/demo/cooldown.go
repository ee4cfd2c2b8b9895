package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// leastSkip is what is shorter to wait for than to skip.
const leastSkip = 2 * time.Second

// cooldowns are the waits at the end in which nothing happens: of stakes and bonds, and for claims on slashed stake. When
// everybody is in such a wait the chain's clock moves. Its methods may be called from several goroutines.
type cooldowns struct {
	mu sync.Mutex
	// busy counts those that do something else.
	busy int
	// ends has what the others wait for, unix seconds.
	ends map[*int64]struct{}
}

// work notes that so many more, or with a negative number less, do something else than wait.
func (c *cooldowns) work(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy += by
}

// begin notes that one that worked waits for a time. Over must be called when it does not any more.
func (c *cooldowns) begin(unix int64) (over func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends == nil {
		c.ends = map[*int64]struct{}{}
	}
	c.busy--
	c.ends[&unix] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy++
		delete(c.ends, &unix)
	}
}

// last is what the last of those that wait waits for, if all do.
func (c *cooldowns) last() (unix int64, alone bool) {
	if c.busy > 0 {
		return 0, false
	}
	for end := range c.ends {
		unix = max(unix, *end)
	}
	return unix, true
}

// coolDown waits until the chain's clock has reached the unix second. When nobody does anything but wait, it moves the clock, if the
// engine can: the program compares with nothing else.
func (d *demo) coolDown(ctx context.Context, unix int64) error {
	defer d.cooldowns.begin(unix)()
	for {
		left, err := d.leftUntil(ctx, unix)
		if err != nil || left <= 0 {
			return err
		}
		if err := d.skipCooldowns(ctx); err != nil {
			return err
		}
		if err := wait.For(ctx, min(left, 100*time.Millisecond)); err != nil {
			return err
		}
	}
}

// leftUntil is how far the chain's clock is from a unix second.
func (d *demo) leftUntil(ctx context.Context, unix int64) (time.Duration, error) {
	now, err := d.net.Chain.ClusterTime(ctx, chain.Confirmed)
	return time.Duration(unix-now.Unix()) * time.Second, err
}

// skipCooldowns moves the chain's clock to the end of the last wait if nothing but waits is left and the engine can.
func (d *demo) skipCooldowns(ctx context.Context) error {
	d.cooldowns.mu.Lock()
	defer d.cooldowns.mu.Unlock()
	unix, alone := d.cooldowns.last()
	if !alone || d.opts.Wait {
		return nil
	}
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
	d.out.begin("only cool-downs are left: the node's clock moves on", fmt.Sprintf("by %.0f s", left.Seconds()))
	return nil
}

// ending is an account that anyone may close from a time on.
type ending struct {
	what    string
	account solana.PublicKey
	from    int64
	close   func() (solana.Instruction, error)
	before  []solana.Instruction
}

// endings are the accounts that slashes leave behind: faults, votes about silent machines, and payouts.
func (d *demo) endings() (all []ending) {
	mint := d.net.Mints().Stake
	for _, f := range d.view.Faults() {
		e := ending{what: "close the fault", account: f.Address, close: func() (solana.Instruction, error) { return ix.SlashClose(f, mint) }}
		if f.PoolLeft > 0 {
			e.from = f.ClaimsUntil
		}
		all = append(all, e)
	}
	for _, o := range outages(d.view) {
		e := ending{what: "close the outage", account: o.Address, close: func() (solana.Instruction, error) { return ix.OutageClose(o) }}
		if e.from = o.OpenedAt + market.OutageVoteSecs + 1; o.SeenAt != 0 {
			e.from = o.SeenAt + market.OutageMoveSecs + 1
		}
		all = append(all, e)
	}
	for _, p := range d.view.Payouts() {
		all = append(all, ending{
			what: "pay out", account: p.Address, from: p.PayableAt, close: func() (solana.Instruction, error) { return ix.PayoutClaim(p, mint) },
			before: []solana.Instruction{ix.CreateTokenAccount(d.net.Keys.Faucet.Address(), p.Beneficiary, mint)},
		})
	}
	return all
}

// settleSlashes closes the accounts that slashes leave behind when their times have come, as anyone may. Keepers do so too, but by a clock that they
// compare with the chain's twice a minute: they are left to it if the clock does not move.
func (d *demo) settleSlashes(ctx context.Context) error {
	if d.opts.Wait {
		return d.until(ctx, 2*time.Minute, "keepers to close the accounts of slashes", func(*view.View) bool { return len(d.endings()) == 0 })
	}
	for all := d.endings(); len(all) > 0; all = d.endings() {
		last := slices.MaxFunc(all, func(a, b ending) int { return cmp.Compare(a.from, b.from) })
		if err := d.coolDown(ctx, last.from); err != nil {
			return err
		}
		for _, e := range all {
			instruction, err := e.close()
			if err := d.closeOff(ctx, e.what, e.account, instruction, err, e.before...); err != nil {
				return err
			}
		}
		if err := d.until(ctx, 10*time.Second, "the accounts of slashes to be closed", func(*view.View) bool {
			left := d.endings()
			return !slices.ContainsFunc(all, func(e ending) bool {
				return slices.ContainsFunc(left, func(l ending) bool { return l.account == e.account })
			})
		}); err != nil {
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
