package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/filelock"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// guardedStore is the store, while signing is safe. It remembers whether the disk takes what is written.
type guardedStore struct {
	signing.Store
	clock *clock

	mu  sync.Mutex
	bad error // of the last write
}

// SignStatements implements check.Store. Errors: ErrClock, those of store.Sign.
func (g *guardedStore) SignStatements(all []records.CheckStatement) ([]store.Signed, []store.Refusal, error) {
	if err := g.clock.err(); err != nil {
		return nil, nil, err
	}
	signed, refused, err := g.Store.SignStatements(all)
	g.keepError(err)
	return signed, refused, err
}

// Vote implements consensus.Store. Errors: ErrClock, those of store.Vote.
func (g *guardedStore) Vote(p records.Period, root records.Hash, proposal []byte) error {
	if err := g.clock.err(); err != nil {
		return err
	}
	err := g.Store.Vote(p, root, proposal)
	if !errors.Is(err, store.ErrEarly) {
		g.keepError(err)
	}
	return err
}

// PutManifest implements consensus.Store. Errors: ErrClock, those of store.PutManifest.
func (g *guardedStore) PutManifest(p records.Period, ref store.SetRef) error {
	if err := g.clock.err(); err != nil {
		return err
	}
	err := g.Store.PutManifest(p, ref)
	if !errors.Is(err, store.ErrManifest) && !errors.Is(err, store.ErrEarly) && !errors.Is(err, store.ErrOpen) {
		g.keepError(err)
	}
	return err
}

func (g *guardedStore) keepError(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bad = err
}

// writeError says why the last write failed.
func (g *guardedStore) writeError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.bad == nil:
		return nil
	case errors.Is(g.bad, syscall.ENOSPC), errors.Is(g.bad, syscall.EFBIG), errors.Is(g.bad, syscall.EDQUOT):
		return fmt.Errorf("no room for the keeper's store, so nothing is signed; make room on the disk of the data folder: %w", g.bad)
	}
	return fmt.Errorf("the keeper's store cannot be written, so nothing is signed: %w", g.bad)
}

// watchOwn stops signing when a statement comes in that was signed with this wallet and is not in this store: another
// process uses the wallet, or the store is an old copy.
func (k *Keeper) watchOwn() {
	k.pool.Added = func(s statement.Signed) {
		if s.Keeper != k.publicKey() {
			return
		}
		known, err := k.store.Knows(s.Statement)
		if err == nil && !known {
			// runGuard sees the error and ends the keeper.
			_ = k.duplicateSigner(fmt.Sprintf("a statement about node %s of period %d came in that was signed with this wallet and is not in this store", s.Statement.Node, s.Statement.Period))
		}
	}
}

// compareVotes does the same for votes, which the chain shows.
func (k *Keeper) compareVotes(me *market.Keeper) error {
	if me == nil || me.Votes == 0 {
		return nil
	}
	onChain := records.Period(me.LastVotePeriod)
	forgotten := k.now().Add(-k.timing.Keep).Unix() / int64(k.secs) // votes before may be pruned
	if onChain < k.store.FirstPeriod() || int64(onChain) <= forgotten {
		return nil
	}
	_, err := k.store.Voted(onChain)
	if errors.Is(err, store.ErrNotFound) {
		return k.duplicateSigner(fmt.Sprintf("the chain has a vote of this wallet for period %d, and this store has none", onChain))
	}
	return err
}

// me is this keeper's account as the view has it; nil while there is none.
func (k *Keeper) me() (me *market.Keeper) {
	k.view.Read(func(v *view.Accounts) { me = v.Keepers[k.publicKey()] })
	return me
}

// duplicateSigner freezes the store, which stops signing for good, and returns the error that tells a person what to
// do.
func (k *Keeper) duplicateSigner(why string) error {
	err := k.store.Freeze(why)
	if err == nil {
		err = explainStore(k.store.Frozen(), k.secs)
	}
	k.damaged(err)
	return err
}

// runGuard compares clock and votes until ctx ends. Its error ends the keeper.
func (k *Keeper) runGuard(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- k.clock.run(ctx) }()
	defer func() {
		end()
		<-done
	}()
	tick := time.NewTicker(k.clock.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		me := k.me()
		if err := k.checkKey(me); err != nil {
			return err
		}
		err := k.compareVotes(me)
		if damage := k.damage.Load(); damage != nil {
			return *damage
		}
		switch {
		case store.IsDamage(err):
			return err
		case err != nil: // a signer that does not answer now
			k.log.Warn().Err(err).Msg("the votes on chain were not compared with those of the store; the keeper tries again")
		}
	}
}

// firstPeriod is the first period that a new store may sign for: one for which nothing can have been signed with this
// wallet. An earlier store may have been used with a clock that was ahead by as much as is tolerated. A keeper that was
// registered within this period has signed nothing before.
func firstPeriod(now, chain time.Time, period time.Duration, me *market.Keeper) records.Period {
	at := func(t time.Time) records.Period { return records.Period(max(0, t.Unix()) / int64(period/time.Second)) }
	latest := now
	if chain.After(latest) {
		latest = chain
	}
	if me != nil && me.RegisteredAt < chain.Add(-period).Unix() {
		latest = latest.Add(clockLimit(period))
	}
	first := at(latest) + 1
	if me != nil && me.Votes > 0 {
		first = max(first, records.Period(me.LastVotePeriod)+1)
	}
	return first
}

// ErrWallet: another keeper runs on this machine with this wallet.
var ErrWallet = errors.New("another keeper runs on this machine with the same wallet")

// lockWallet keeps a second process on this machine from using the wallet with another data folder. The lock ends with
// the process, however that ends. It lies in the first folder that can be written: beside the keypair, else among
// the data. A folder that everybody may write to would let anyone hold it.
func lockWallet(wallet solana.PublicKey, domain records.Domain, folders ...string) (*os.File, error) {
	var f *os.File
	var bad error
	for _, dir := range folders {
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			f, err = os.OpenFile(filepath.Join(dir, fmt.Sprintf(".gantry-keeper-%s-%s.lock", wallet, domain)), os.O_CREATE|os.O_RDWR, 0o600)
		}
		if err == nil {
			break
		}
		bad = errors.Join(bad, err)
	}
	if f == nil {
		return nil, fmt.Errorf("lock of the wallet: no folder for it can be written: %w", bad)
	}
	if err := filelock.Try(f, false); err != nil {
		_ = f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, fmt.Errorf("%w: %s (its lock is %s); two of them would sign two different things, which costs the bond", ErrWallet, wallet, f.Name())
		}
		return nil, fmt.Errorf("lock of the wallet %s: %w", f.Name(), err)
	}
	return f, nil
}
