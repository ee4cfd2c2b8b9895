package lease

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// sealedFor is a job for the guest of the lease that is awarded.
func sealedFor() messages.DeployRequest {
	return messages.DeployRequest{Version: messages.Version, Lease: testLease, Guest: true, Sealed: []byte("sealed"), SealedTo: make([]byte, 32)}
}

// A machine that can start no guest declines the lease, whether its settings name none or what they name is missing. Nothing is billed.
func TestALeaseWithoutItsGuestIsDeclined(t *testing.T) {
	for name, prepare := range map[string]func(*Manager){
		"no settings": func(*Manager) {},
		"no image": func(m *Manager) {
			guests, err := guestvm.New(m.o.Runtime, guestvm.Options{Settings: guestvm.Settings{Accelerator: guestvm.TCG}, Folder: t.TempDir(), Log: zerolog.Nop()})
			require.NoError(t, err)
			t.Cleanup(guests.Close)
			m.o.Guests = guests
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, chain, _, _ := newTestManager(t)
			prepare(m)
			chain.award(testJob(), false, time.Hour, true)
			_, err := m.MeasuredGuest(t.Context(), testLease)
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Why, "starts no measured guest")
			_, again := m.MeasuredGuest(t.Context(), testLease)
			require.ErrorAs(t, again, &refused)
			require.Equal(t, []market.DeclineReason{market.DeclinedJob}, declinesOf(t, m, chain))
		})
	}
}

// A job for a guest that is not there is refused, so that its customer asks for a proof first. Nobody but the customer brings one.
func TestAJobForAGuest(t *testing.T) {
	m, chain, _, _ := newTestManager(t)
	guests, err := guestvm.New(m.o.Runtime, guestvm.Options{Folder: t.TempDir(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(guests.Close)
	m.o.Guests = guests
	chain.award(testJob(), false, time.Hour, true)
	_, err = m.DeployGuest(t.Context(), testCustomer, sealedFor())
	require.ErrorContains(t, err, messages.SealLost)
	_, err = m.DeployGuest(t.Context(), testLease, sealedFor())
	require.ErrorContains(t, err, "another customer")
	bad := sealedFor()
	bad.SealedTo = nil
	_, err = m.DeployGuest(t.Context(), testCustomer, bad)
	require.ErrorContains(t, err, "sealed to no key")

	_, err = m.Deploy(t.Context(), testCustomer, withKey(testJob()))
	require.NoError(t, err)
	_, err = m.MeasuredGuest(t.Context(), testLease)
	require.ErrorContains(t, err, "has been started already", "a plain job was brought, and a guest would prove nothing of it")
}

// What a node stores of a job in a guest is that there is one.
func TestASealedJobIsNotStored(t *testing.T) {
	m, _, _, _ := newTestManager(t)
	s := m.spec(store.Lease{Address: store.Key(testLease), GPUMask: 1, Job: &store.Job{Guest: true}})
	require.True(t, s.Guest)
	require.Empty(t, s.Command)
	require.Equal(t, "the job is over, and its exit code is sealed for its customer", describe(store.Exit{Code: -1, Reason: string(guestvm.ReasonSealed)}))
	require.Equal(t, "the measured guest ended before its job", describe(store.Exit{Code: 137, Reason: string(guestvm.ReasonGuestEnded)}))
}
