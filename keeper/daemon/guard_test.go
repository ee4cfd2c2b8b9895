package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// testClock is one whose difference from the chain's the test sets.
func testClock(t *testing.T, ahead *time.Duration, log zerolog.Logger) *clock {
	now := time.Unix(1_000_000, 0)
	c, err := newClock(clockOptions{
		Chain: func(context.Context) (time.Time, error) { return now.Add(-500 * time.Millisecond), nil },
		Now:   func() time.Time { return now.Add(*ahead) }, Limit: clockLimit(5 * time.Second), Every: time.Second, Log: log,
	})
	require.NoError(t, err)
	options.Without(c.o, []string{"Log"}, func(field string, o clockOptions) {
		_, err := newClock(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	return c
}

func guarded(t *testing.T) (*Keeper, solana.PrivateKey) {
	key := newWallet(t)
	k := &Keeper{c: Config{Wallet: key}, wallet: key.PublicKey(), log: zerolog.Nop(), now: time.Now, view: view.New(view.Options{}), pool: statement.NewPool(), secs: 5}
	k.timing.Keep = time.Hour
	signer, err := records.NewSigner(key)
	require.NoError(t, err)
	ahead := time.Duration(0)
	k.clock = testClock(t, &ahead, zerolog.Nop())
	s, err := store.Open(filepath.Join(t.TempDir(), fileStore), store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}, FirstPeriod: 5})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	protected := signing.New(s, signer, records.Domain{1})
	k.store, k.signer = protected, protected
	k.named = records.As(k.wallet, k.signer)
	k.signing = &guardedStore{Store: protected, clock: k.clock}
	k.watchOwn()
	return k, key
}

func aStatement(p records.Period, passed bool) records.CheckStatement {
	return records.CheckStatement{Domain: records.Domain{1}, Node: solana.PublicKey{1}, Period: p, Kind: records.CheckLiveness, Passed: passed, CheckedAt: int64(p) * 5}
}

// A clock that is 5 s off, either way, gives a warning; one that is further off stops all signing until it is right
// again.
func TestClockSkew(t *testing.T) {
	for _, c := range []struct {
		ahead         time.Duration
		warned, stops bool
	}{
		{0, false, false},
		{2 * time.Second, false, false},
		{5 * time.Second, true, false},
		{-5 * time.Second, true, false},
		{5500 * time.Millisecond, true, true},
		{-6 * time.Second, true, true},
		{time.Hour, true, true},
	} {
		var log bytes.Buffer
		ahead := c.ahead
		k, _ := guarded(t)
		k.clock = testClock(t, &ahead, zerolog.New(&log))
		k.signing.clock = k.clock
		sign := func() error {
			signed, _, err := k.signing.SignStatements([]records.CheckStatement{aStatement(6, true)})
			require.Equal(t, err == nil, len(signed) == 1)
			return err
		}
		for range clockSamples {
			require.NoError(t, k.clock.measure(t.Context()))
		}
		require.Equal(t, c.warned, log.Len() > 0, "%s: %s", c.ahead, &log)
		if !c.stops {
			require.NoError(t, sign(), c.ahead)
			continue
		}
		require.Contains(t, log.String(), "nothing is signed")
		require.ErrorIs(t, sign(), ErrClock, c.ahead)
		require.ErrorIs(t, k.signing.Vote(7, records.Hash{1}, nil), ErrClock)
		require.ErrorIs(t, k.unsafe(), ErrClock)
		_, err := k.store.Voted(7)
		require.ErrorIs(t, err, store.ErrNotFound)
		ahead = 0 // somebody sets the clock
		require.NoError(t, k.clock.measure(t.Context()))
		require.Contains(t, log.String(), "signing continues")
		require.NoError(t, sign())
		require.NoError(t, k.unsafe())
	}
}

// One slow answer of the chain stops nothing, and neither does one that does not come.
func TestClockIsNotHasty(t *testing.T) {
	ahead := time.Duration(0)
	c := testClock(t, &ahead, zerolog.Nop())
	require.NoError(t, c.measure(t.Context()))
	ahead = time.Minute
	require.NoError(t, c.measure(t.Context()))
	require.NoError(t, c.measure(t.Context()))
	require.NoError(t, c.err(), "two of three")
	require.NoError(t, c.measure(t.Context()))
	require.ErrorIs(t, c.err(), ErrClock)
	c.o.Chain = func(context.Context) (time.Time, error) { return time.Time{}, errors.New("no answer") }
	require.Error(t, c.measure(t.Context()))
	require.ErrorIs(t, c.err(), ErrClock, "the verdict stays")
}

// A statement that was signed with our wallet and not with our store shows a second process: signing stops, for good.
func TestADuplicateSignerStopsSigning(t *testing.T) {
	k, key := guarded(t)
	own := aStatement(6, true)
	signed, _, err := k.signing.SignStatements([]records.CheckStatement{own})
	require.NoError(t, err)
	add := func(s records.CheckStatement) {
		sig, err := s.Sign(key)
		require.NoError(t, err)
		_, _ = k.pool.Add(statement.Signed{Keeper: key.PublicKey(), Statement: s, Signature: sig}) // equivocation is an error, too
	}
	add(signed[0].Statement)
	add(aStatement(3, false)) // before this store's time
	require.NoError(t, k.unsafe())
	require.Empty(t, k.healthy())
	add(aStatement(6, false))
	require.ErrorIs(t, k.unsafe(), store.ErrFrozen)
	require.Contains(t, k.healthy()[0], "signed with this wallet")
	require.Contains(t, k.healthy()[0], "move this file away")
	_, _, err = k.signing.SignStatements([]records.CheckStatement{aStatement(9, true)})
	require.ErrorIs(t, err, store.ErrFrozen)
}

// silentStore does not answer: its signer is being started again.
type silentStore struct{ signing.Store }

func (silentStore) Voted(records.Period) (records.Hash, error) {
	return records.Hash{}, errors.New("the signer cannot be reached")
}

// A signer that does not answer for a while ends no keeper.
func TestTheGuardOutlivesASilentSigner(t *testing.T) {
	k, _ := guarded(t)
	k.clock.o.Every = 20 * time.Millisecond
	me := &market.Keeper{}
	me.Address = market.KeeperAddress(k.publicKey())
	me.Wallet, me.Votes, me.LastVotePeriod = k.publicKey(), 1, uint64(time.Now().Unix()/5)
	k.view.Put(me.Address, me)
	k.store = silentStore{k.store}
	require.Error(t, k.compareVotes(k.me()))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, k.runGuard(ctx), context.DeadlineExceeded)
	require.NoError(t, k.unsafe())
}

// A copy of the store from before a vote would vote again: the chain has the vote.
func TestOldCopyOfTheStore(t *testing.T) {
	k, _ := guarded(t)
	now := uint64(time.Now().Unix() / 5)
	require.NoError(t, k.store.Vote(records.Period(now), records.Hash{1}, nil))
	vote := func(last uint64) error {
		me := &market.Keeper{}
		me.Votes, me.LastVotePeriod = 1, last
		return k.compareVotes(me)
	}
	require.NoError(t, vote(now))
	require.NoError(t, vote(3), "before this store's time")
	require.NoError(t, vote(now-100_000), "too old to be kept")
	err := vote(now + 1)
	require.ErrorIs(t, err, store.ErrFrozen)
	require.ErrorContains(t, err, "the chain has a vote")
	require.ErrorIs(t, k.store.Vote(records.Period(now+2), records.Hash{1}, nil), store.ErrFrozen)
}

// A new store begins after everything that the wallet can have signed before.
func TestFirstPeriod(t *testing.T) {
	const period = 5 * time.Second
	at := func(sec int64) time.Time { return time.Unix(sec, 0) }
	old := &market.Keeper{}
	old.RegisteredAt = 100
	voted := &market.Keeper{}
	voted.RegisteredAt, voted.Votes, voted.LastVotePeriod = 100, 9, 300
	fresh := &market.Keeper{}
	fresh.RegisteredAt = 998
	for _, c := range []struct {
		name       string
		now, chain int64
		me         *market.Keeper
		want       records.Period
	}{
		{"registered just now", 1000, 1000, fresh, 201},
		{"no keeper yet", 1000, 1000, nil, 201},
		{"an earlier store may have had a clock 5 s ahead", 1000, 1000, old, 202},
		{"our clock is behind", 900, 1000, old, 202},
		{"our clock is ahead", 1100, 1000, old, 222},
		{"it has voted for a later period", 1000, 1000, voted, 301},
	} {
		require.Equal(t, c.want, firstPeriod(at(c.now), at(c.chain), period, c.me), c.name)
	}
}

func TestOneProcessAWalletWithItsLockBesideTheKey(t *testing.T) {
	wallet := newWallet(t).PublicKey()
	keys, shared := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", shared)
	first, err := lockWallet(wallet, records.Domain{1}, keys, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, keys, filepath.Dir(first.Name()))
	info, err := first.Stat()
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	left, err := os.ReadDir(shared)
	require.NoError(t, err)
	require.Empty(t, left, "strangers could hold a lock there")
	_, err = lockWallet(wallet, records.Domain{1}, keys, t.TempDir())
	require.ErrorIs(t, err, ErrWallet)
	other, err := lockWallet(wallet, records.Domain{2}, keys)
	require.NoError(t, err, "another cluster")
	require.NoError(t, other.Close())
	require.NoError(t, first.Close())
	again, err := lockWallet(wallet, records.Domain{1}, keys)
	require.NoError(t, err)
	require.NoError(t, again.Close())

	// A folder of secrets may be read-only; a file stands for it, since root may write anywhere.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	data := t.TempDir()
	elsewhere, err := lockWallet(wallet, records.Domain{1}, file, data)
	require.NoError(t, err)
	require.Equal(t, data, filepath.Dir(elsewhere.Name()))
	require.NoError(t, elsewhere.Close())
	_, err = lockWallet(wallet, records.Domain{1}, file)
	require.ErrorContains(t, err, "no folder for it can be written")
}

func TestDiskErrorsAreReported(t *testing.T) {
	k, _ := guarded(t)
	require.NoError(t, k.unsafe())
	k.signing.keepError(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	require.ErrorContains(t, k.unsafe(), "make room on the disk")
	k.signing.keepError(errors.New("something"))
	require.ErrorContains(t, k.unsafe(), "cannot be written")
	require.NoError(t, k.signing.Vote(9, records.Hash{1}, nil))
	require.NoError(t, k.unsafe(), "a write that succeeds ends it")
}
