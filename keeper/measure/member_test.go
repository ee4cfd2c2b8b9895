package measure

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

func TestOptionsAreComplete(t *testing.T) {
	o := Options{Domain: domain, Network: Peers{}, Owes: func(solana.PublicKey, instant.Instant) bool { return true }}
	o.Network = Peers{&p2p.Node{}}
	options.Without(o, []string{"Rand", "Now", "Slack", "Pause", "Wait", "Overrun", "Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// All members of a committee measure one run of a machine with two GPUs, also the one that comes when it is over.
func TestMembersMeasureAMachine(t *testing.T) {
	one, two := processors(t), processors(t)
	m := newMachine(t, one, two).start(t)
	var results [2]Result
	var wg sync.WaitGroup
	for i := range results {
		k := m.member(t)
		wg.Go(func() { results[i] = k.asks(t, m) })
	}
	wg.Wait()
	for _, r := range append(results[:], m.member(t).asks(t, m)) {
		require.NoError(t, r.Why)
		require.Equal(t, Measured, r.Outcome)
		require.Equal(t, small.Memory(), r.Figures.Memory)
		require.Positive(t, r.Figures.Operations)
		require.Positive(t, r.Figures.Bandwidth)
		require.Nil(t, r.Proof)
	}
	require.EqualValues(t, 1, one.runs.Load())
	require.EqualValues(t, 1, two.runs.Load())
}

// What the process of a confidential machine has made is signed by its own key: keepers learn whose it is.
func TestTheGuestSignsMeasurements(t *testing.T) {
	m := newMachine(t, processors(t))
	var err error
	m.guest, err = guest.NewKey()
	require.NoError(t, err)
	m.start(t)
	r := m.member(t).asks(t, m)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.Equal(t, m.guest.Public(), r.Guest)

	none := newMachine(t, processors(t)).start(t)
	r = none.member(t).asks(t, none)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.Zero(t, r.Guest)
}

// A machine whose second GPU makes its bytes up is found, with all that proves it.
func TestAWrongCellIsProven(t *testing.T) {
	m := newMachine(t, processors(t), processor.Faulty{}).start(t)
	r := m.member(t).asks(t, m)
	require.Equal(t, Wrong, r.Outcome, "%v", r.Why)
	require.NotNil(t, r.Proof)
	require.Equal(t, 1, r.Proof.Entry)
	holds(t, r.Proof, m)
	require.Equal(t, Wrong, m.member(t, excused).asks(t, m).Outcome, "no lease excuses a lie")
}

// A machine that says that a lease is live is believed where the chain shows one.
func TestARefusal(t *testing.T) {
	m := newMachine(t, processors(t)).start(t)
	m.sets(true)
	r := m.member(t).asks(t, m)
	require.Equal(t, Refused, r.Outcome)
	require.EqualError(t, refusalOf(t, r), "the machine refuses: "+messages.MeasureLease.String())
	require.Equal(t, Unknown, m.member(t, excused).asks(t, m).Outcome)
}

// A lease that begins ends the run: no member says anything of it.
func TestALeaseBegins(t *testing.T) {
	d := stuck{make(chan struct{})}
	m := newMachine(t, d).start(t)
	result := make(chan Result, 1)
	k := m.member(t, excused)
	go func() { result <- k.asks(t, m) }()
	<-d.began
	m.sets(true)
	r := <-result
	require.Equal(t, Unknown, r.Outcome)
	require.EqualError(t, refusalOf(t, r), "the machine refuses: "+messages.MeasureLease.String())
}

// A keeper that names another block is refused, then and with the right one; others are not.
func TestAKeeperNamesAWrongBlock(t *testing.T) {
	m := newMachine(t, processors(t)).start(t)
	k := m.member(t)
	for _, at := range []instant.Instant{block(period, 1), block(period, 0)} {
		r := k.Measure(t.Context(), m.node(), at, time.Now())
		require.Equal(t, Unknown, r.Outcome, "either of the two may read the chain wrongly")
		require.EqualError(t, refusalOf(t, r), "the machine refuses: "+messages.MeasureBlock.String())
	}
	r := m.member(t).asks(t, m)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
}

// A stranger starts nothing.
func TestAStrangerIsRefused(t *testing.T) {
	d := processors(t)
	m := &machine{key: key(t), changed: make(chan struct{})}
	friend := key(t).PublicKey()
	m.peer = peerOf(t, func(o *p2p.Options) {
		o.Key, o.Known = m.key, func(k solana.PublicKey) bool { return k == friend }
	})
	m.gpus = newMachine(t, d).gpus
	m.start(t)
	r := m.member(t).asks(t, m)
	require.Equal(t, Refused, r.Outcome)
	require.ErrorContains(t, r.Why, "not registered in this market")
	require.Zero(t, d.runs.Load())
}

// A member that does not read what it is sent holds nobody up.
func TestASlowReader(t *testing.T) {
	m := newMachine(t, processors(t)).start(t)
	slow := peerOf(t)
	require.NoError(t, slow.Connect(t.Context(), m.peer.Self()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	at := block(period, 0)
	first, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		req := messages.MeasureRequest{Version: messages.Version, Node: account, Period: uint64(period), Slot: at.Slot, BlockHash: at.Hash}
		ended <- Peers{slow}.Join(ctx, m.key.PublicKey(), req, func(messages.MeasureItem) error {
			close(first)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-first
	r := m.member(t).asks(t, m)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A member whose own process ends says nothing.
func TestTheMemberEnds(t *testing.T) {
	d := stuck{make(chan struct{})}
	m := newMachine(t, d).start(t)
	ctx, cancel := context.WithCancel(t.Context())
	k := m.member(t)
	result := make(chan Result, 1)
	go func() { result <- k.Measure(ctx, m.node(), block(period, 0), time.Now()) }()
	<-d.began
	cancel()
	require.Equal(t, Unknown, (<-result).Outcome)
}
