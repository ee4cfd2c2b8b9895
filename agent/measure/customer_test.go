package measure

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// What a customer finds out about its machine, with both ends as they are, over a network.

func peerOf(t *testing.T) (*p2p.Node, solana.PrivateKey) {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n, key
}

// anyones are leases that are anyone's.
type anyones struct{ *leases }

func (anyones) Customer(solana.PublicKey) bool { return true }

func (a anyones) Tenancy(ctx context.Context, _, lease solana.PublicKey) (Tenancy, error) {
	return a.leases.Tenancy(ctx, customer, lease)
}

// rented is a machine whose customer has leased its GPU of index 3.
type rented struct {
	*leases
	server        *Server
	machine, peer *p2p.Node
	key           solana.PrivateKey
	began         atomic.Bool
	first         *device // of another lease
	profile       format.Profile
	beside        bool
}

func newRented(t *testing.T, device format.Device, mod ...func(*format.Profile)) *rented {
	t.Helper()
	m := &rented{leases: newLeases(), first: newDevice(), profile: small}
	for _, change := range mod {
		change(&m.profile)
	}
	m.machine, m.key = peerOf(t)
	m.peer, _ = peerOf(t)
	f := newFixture(t, right1, func(o *Options) {
		o.Leases, o.Signer = anyones{m.leases}, m.key
		o.GPUs = func() ([]GPU, error) {
			return []GPU{{Index: 0, Profile: small, Device: m.first}, {Index: 3, Profile: m.profile, Device: device}}, nil
		}
	})
	f.sets(true)
	m.server = f.Server
	m.server.Register(m.machine)
	require.NoError(t, m.peer.Connect(t.Context(), m.machine.Self()))
	return m
}

func (m *rented) measures(ctx context.Context, mod ...func(*asking.Options)) asking.Result {
	o := asking.Options{Slack: waitLimit, Wait: waitLimit, Pause: time.Millisecond}
	for _, change := range mod {
		change(&o)
	}
	return asking.New(o).MeasureLease(ctx, m.peer, asking.Lease{
		Domain: domain, Address: leased, Node: account, Key: m.key.PublicKey(), GPUs: []format.Asked{{GPU: 3, Profile: m.profile}},
		Beside: m.beside, Began: func() { m.began.Store(true) },
	})
}

func cpu(t *testing.T) format.Device {
	t.Helper()
	d, err := processor.New(1)
	require.NoError(t, err)
	return d
}

func impatient(o *asking.Options) { o.Slack, o.Wait = 300*time.Millisecond, 300*time.Millisecond }

// An honest machine passes, by the figures that it shows; one that was promised to be much faster is slow. The memory is
// free when the customer has its result.
func TestACustomerMeasuresAnHonestAndASlowMachine(t *testing.T) {
	m := newRented(t, cpu(t))
	r := m.measures(t.Context())
	require.NoError(t, r.Why)
	require.Equal(t, asking.Measured, r.Outcome)
	require.Len(t, r.GPUs, 1)
	require.True(t, m.began.Load())
	require.False(t, m.server.Measured(leased))
	require.Equal(t, leased, <-m.ended)

	require.NoError(t, asking.Promise{}.Hold(r.Figures), "nothing was promised")
	require.NoError(t, asking.Promise{Operations: r.Figures.Operations, Bandwidth: r.Figures.Bandwidth}.Hold(r.Figures))
	require.NoError(t, asking.Promise{Operations: r.Figures.Operations / 0.71}.Hold(r.Figures), "what clocks and lines take")
	require.ErrorIs(t, asking.Promise{Operations: 2 * r.Figures.Operations}.Hold(r.Figures), asking.ErrSlow)
	require.ErrorIs(t, asking.Promise{Bandwidth: 2 * r.Figures.Bandwidth}.Hold(r.Figures), asking.ErrSlow)
}

// Beside a job both sides take the light form of the profile: a customer who asks for it has figures, of two rounds in memory.
func TestACustomerMeasuresBesideTheJob(t *testing.T) {
	m := newRented(t, cpu(t), func(p *format.Profile) { p.Resident = 5 })
	m.sets(func(l *leases) { l.job = true })
	r := m.measures(t.Context())
	require.Equal(t, asking.Refused, r.Outcome)
	m.beside = true
	r = m.measures(t.Context())
	require.NoError(t, r.Why)
	require.Equal(t, asking.Measured, r.Outcome)
	require.Len(t, r.GPUs, 1)
	require.EqualValues(t, 2*m.profile.SlotBytes(), r.GPUs[0].Memory, "not the five of the whole one")
	require.NoError(t, asking.Promise{Operations: 9 * r.Figures.Operations, Least: 10}.Hold(r.Figures), "a tenth is enough")
	require.ErrorIs(t, asking.Promise{Operations: 11 * r.Figures.Operations, Least: 10}.Hold(r.Figures), asking.ErrSlow)
}

// A customer waits for another lease's, who measures the same machine.
func TestACustomerWaitsForAnother(t *testing.T) {
	m := newRented(t, cpu(t))
	joined, ended := make(chan struct{}), make(chan error, 1)
	req := messages.LeaseMeasureRequest{Version: messages.Version, Lease: other, Nonce: [32]byte{1}}
	m.first.rounds = make(chan format.Hash, 1)
	m.first.rounds <- root(0, 0)
	go func() {
		ended <- m.server.JoinLease(t.Context(), customer, req, func(i messages.MeasureItem) error {
			if i.Roots != nil {
				close(joined)
			}
			return nil
		})
	}()
	<-joined
	result := make(chan asking.Result, 1)
	go func() { result <- m.measures(t.Context()) }()
	require.Eventually(t, func() bool { return m.server.Counts().Refused[messages.MeasureTooMany] > 0 }, waitLimit, time.Millisecond)
	_, err := m.server.OpenLease(t.Context(), customer, messages.LeaseMeasureOpenRequest{Version: messages.Version, Lease: other, Nonce: [32]byte{1}, Done: true})
	require.NoError(t, err)
	require.NoError(t, <-ended)
	r := <-result
	require.NoError(t, r.Why)
	require.Equal(t, asking.Measured, r.Outcome)
}

// A machine that makes its bytes up is found, with what proves it to anyone.
func TestACustomerFindsALyingMachine(t *testing.T) {
	m := newRented(t, processor.Faulty{})
	r := m.measures(t.Context())
	require.Equal(t, asking.Wrong, r.Outcome)
	require.ErrorIs(t, r.Why, format.ErrCell)
	require.NotNil(t, r.Proof)
	require.NotEqual(t, r.Proof.Cell.Want, r.Proof.Cell.Bytes[r.Proof.Cell.Group])
	require.Equal(t, leased, <-m.ended)
}

// A machine that refuses, and one whose job has the GPUs.
func TestACustomerFindsARefusingMachine(t *testing.T) {
	m := newRented(t, cpu(t))
	m.sets(func(l *leases) { l.job = true })
	r := m.measures(t.Context())
	require.Equal(t, asking.Refused, r.Outcome)
	var refused *asking.RefusedError
	require.ErrorAs(t, r.Why, &refused)
	require.Equal(t, messages.MeasureJob, refused.Why)
	require.False(t, m.began.Load())

	p2p.HandleStream(m.machine, leaseProtocol, func(context.Context, solana.PublicKey, messages.LeaseMeasureRequest, func(messages.MeasureItem) error) error {
		return p2p.Refuse(p2p.CodeRefused, "not today")
	})
	r = m.measures(t.Context())
	require.Equal(t, asking.Refused, r.Outcome)
	require.ErrorContains(t, r.Why, "not today")
}

// A machine that hangs: before it begins, while it computes, and when it is to open what it has signed.
func TestACustomerIsNotHeldUpByAHangingMachine(t *testing.T) {
	forever := newDevice()
	m := newRented(t, forever)
	r := m.measures(t.Context(), impatient)
	require.Equal(t, asking.Unknown, r.Outcome)
	require.ErrorIs(t, r.Why, asking.ErrSilent)
	require.Equal(t, leased, <-m.ended, "the machine has heard that nothing more is wanted")

	m = newRented(t, cpu(t))
	hanging := drawProtocol
	hanging.Timeout = 2 * time.Second // so that the test's machine closes
	p2p.Handle(m.machine, hanging, func(ctx context.Context, _ solana.PublicKey, _ messages.LeaseMeasureOpenRequest) (messages.MeasureOpening, error) {
		<-ctx.Done()
		return messages.MeasureOpening{}, ctx.Err()
	})
	r = m.measures(t.Context(), func(o *asking.Options) { o.Wait = 300 * time.Millisecond })
	require.Equal(t, asking.Wrong, r.Outcome)
	require.ErrorIs(t, r.Why, asking.ErrUnopened)
	require.True(t, m.began.Load())
	m.sets(func(l *leases) { l.over = true }) // its customer ends the lease
	m.server.lease.end(errNewer)
	require.Equal(t, leased, <-m.ended)

	m = newRented(t, cpu(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, asking.Unknown, m.measures(ctx).Outcome, "the customer's own process ends")
}
