package challenge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	customerKey = solana.PublicKey{77}
	leased      = solana.PublicKey{5}
	ordered     = [32]byte{6} // the job
)

// proving is a server that answers the customer of one lease, at a time.
func proving(t *testing.T) (f *fixture, now time.Time, asked *attest.Challenge) {
	f = newFixture(t, 1)
	now, asked = time.Unix(1_800_000_000, 0), &attest.Challenge{}
	f.o.Now, f.o.Genesis = func() time.Time { return now }, [32]byte{8}
	f.o.Tenant = func(_ context.Context, key, lease solana.PublicKey) ([32]byte, error) {
		if key != customerKey || lease != leased {
			return [32]byte{}, &RefusedError{Why: "the lease is of another customer"}
		}
		return ordered, nil
	}
	f.o.Evidence = func(_ context.Context, c attest.Challenge, _ []byte, more ...attest.Evidence) ([]byte, error) {
		*asked = c
		require.Len(t, more, 1)
		f.named = append(f.named, more[0])
		return []byte("bundle"), nil
	}
	return f, now, asked
}

func question(now time.Time) messages.AttestRequest {
	return messages.AttestRequest{Version: messages.Version, Lease: leased, Nonce: [32]byte{1}, SlotHash: [32]byte{2}, Expiry: now.Unix() + 60}
}

func TestACustomerIsAnsweredWhileItsLeaseIsLive(t *testing.T) {
	f, now, asked := proving(t)
	f.busy.Store(true) // keepers are not answered then
	answer, err := f.Attest(t.Context(), customerKey, question(now))
	require.NoError(t, err)
	require.Equal(t, "bundle", string(answer.Evidence))
	require.Equal(t, attest.Challenge{
		GenesisHash: [32]byte{8}, Program: market.ProgramID, ID: attest.LeaseID(leased, [32]byte{1}), Node: node, NodeKey: f.key.PublicKey(),
		SlotHash: [32]byte{2}, Expiry: now.Unix() + 60,
	}, *asked)
	require.EqualValues(t, 1, f.Counts().Evidence)

	none, err := f.Attest(t.Context(), customerKey, messages.AttestRequest{Version: messages.Version, Lease: leased, TPM: &messages.TPMStep{}})
	require.NoError(t, err)
	require.True(t, none.NoTPM)
	f.o.TPM = chip{}
	keys, err := f.Attest(t.Context(), customerKey, messages.AttestRequest{Version: messages.Version, Lease: leased, TPM: &messages.TPMStep{}})
	require.NoError(t, err)
	require.Equal(t, []byte("ak"), keys.TPM.AK)
}

func TestStrangersGetNoProof(t *testing.T) {
	f, now, asked := proving(t)
	for name, c := range map[string]struct {
		from   solana.PublicKey
		change func(*messages.AttestRequest)
	}{
		"a stranger":      {solana.PublicKey{3}, func(*messages.AttestRequest) {}},
		"a keeper":        {f.keepers[0].PublicKey(), func(*messages.AttestRequest) {}},
		"another lease":   {customerKey, func(r *messages.AttestRequest) { r.Lease[0]++ }},
		"another version": {customerKey, func(r *messages.AttestRequest) { r.Version++ }},
	} {
		req := question(now)
		c.change(&req)
		_, err := f.Attest(t.Context(), c.from, req)
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, name)
	}
	late := question(now)
	late.Expiry += 3600
	answer, err := f.Attest(t.Context(), customerKey, late)
	require.NoError(t, err)
	require.Contains(t, answer.Refused, "another time")
	require.Equal(t, attest.Challenge{}, *asked, "nothing was collected")
	f.o.Tenant = nil
	_, err = f.Attest(t.Context(), customerKey, question(now))
	require.ErrorContains(t, err, "does not prove itself")
}

func TestALeaseAsksOnlySoOften(t *testing.T) {
	f, now, _ := proving(t)
	for range customerBurst {
		answer, err := f.Attest(t.Context(), customerKey, question(now))
		require.NoError(t, err)
		require.NotEmpty(t, answer.Evidence)
	}
	answer, err := f.Attest(t.Context(), customerKey, question(now))
	require.NoError(t, err)
	require.True(t, answer.Again)
	require.Empty(t, answer.Evidence)
	f.o.Now = func() time.Time { return now.Add(customerEvery + time.Second) }
	answer, err = f.Attest(t.Context(), customerKey, question(now))
	require.NoError(t, err)
	require.NotEmpty(t, answer.Evidence)
}

// Of whoever asks, leases are remembered up to a bound.
func TestStepsOfManyLeasesAreBounded(t *testing.T) {
	c := newCustomers()
	now := time.Now()
	for i := range 10 * maxLeases {
		require.True(t, c.may([32]byte{byte(i), byte(i >> 8)}, now))
		require.LessOrEqual(t, len(c.steps), maxLeases)
	}
}

// Customers take turns, and leave the machine as much time as they take.
func TestCustomersTakeHalfOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCustomers()
		began := time.Now()
		var running, most atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				require.NoError(t, c.do(t.Context(), func() error {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					return nil
				}))
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, most.Load())
		require.Equal(t, 7*time.Second, time.Since(began))

		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, c.do(short, func() error { return errors.New("not reached") }), context.DeadlineExceeded)
	})
}

// What a customer seals opens for its lease alone, and once. A process that has started anew opens nothing.
func TestSealedJobsOpenOnceForTheirLease(t *testing.T) {
	f, now, _ := proving(t)
	ask := func() *seal.Sealer {
		_, err := f.Attest(t.Context(), customerKey, question(now))
		require.NoError(t, err)
		s, err := seal.Read(f.named[len(f.named)-1], seal.Subject{Lease: leased, Job: ordered})
		require.NoError(t, err)
		return s
	}
	s := ask()
	message, err := s.Seal([]byte("job"))
	require.NoError(t, err)
	_, err = f.Open([32]byte{99}, s.ID(), message)
	require.ErrorIs(t, err, ErrNoKey, "another lease")
	_, err = f.Open(leased, [32]byte{99}, message)
	require.ErrorIs(t, err, ErrNoKey, "another key")
	ask() // the customer looks at its machine meanwhile
	plain, err := f.Open(leased, s.ID(), message)
	require.NoError(t, err)
	require.Equal(t, "job", string(plain))
	_, err = f.Open(leased, s.ID(), message)
	require.ErrorIs(t, err, seal.ErrUsed)
	next, err := s.Seal([]byte("again"))
	require.NoError(t, err)
	f.Forget(func(solana.PublicKey) bool { return true })
	_, err = f.Open(leased, s.ID(), next)
	require.NoError(t, err)
	f.Forget(func(solana.PublicKey) bool { return false })
	_, err = f.Open(leased, s.ID(), next)
	require.ErrorIs(t, err, ErrNoKey, "the lease is over")
	other, _, _ := proving(t)
	_, err = other.Open(leased, s.ID(), next)
	require.ErrorIs(t, err, ErrNoKey, "another process")
}

func TestKeysOfManyLeasesAreBounded(t *testing.T) {
	c := newCustomers()
	for i := range 2 * maxLeases {
		for range 2 * maxKeys {
			c.keep([32]byte{byte(i)}, nil)
		}
		require.LessOrEqual(t, len(c.keys), maxLeases)
		require.Len(t, c.keys[[32]byte{byte(i)}], maxKeys)
	}
}
