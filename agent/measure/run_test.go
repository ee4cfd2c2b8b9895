package measure

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
)

// All members are told of one run, from its first root on, whenever they join; the last of them after its commitment.
func TestOneRunForAllMembers(t *testing.T) {
	f := newFixture(t, right1)
	req := block(period, 0)
	first := f.joins(t.Context(), 0, req)
	f.rounds(0, 3)
	second := f.joins(t.Context(), 1, req)
	go func() { f.rounds(3, 2); f.end() }()
	roots, last, _ := first.all(t)
	for g, index := range []uint8{0, 3} {
		require.Len(t, roots[index], 5)
		for r, got := range roots[index] {
			require.Equal(t, root(g, r), got)
		}
	}
	again, same, _ := second.all(t)
	require.Equal(t, roots, again)
	require.Equal(t, last, same)
	late, same, items := f.joins(t.Context(), 2, req).all(t)
	require.Equal(t, roots, late)
	require.Equal(t, last, same)
	require.Equal(t, 3, items, "what waits comes at once")
	for _, d := range f.devices {
		require.EqualValues(t, 1, d.runs.Load())
	}

	entries := make([]format.Entry, 0, 2)
	for b := last.Commitment.Entries; len(b) > 0; b = b[format.EntryBytes:] {
		e, err := format.DecodeEntry(b[:format.EntryBytes])
		require.NoError(t, err)
		entries = append(entries, e)
	}
	drawn, here := instant.Draw(domain, period, 0, req.Slot, req.BlockHash, time.Time{})
	require.True(t, here)
	place := format.Place{Domain: domain, Instant: drawn.Seed, Node: account}
	signed := format.Signed{Commitment: last.Commitment.Commitment, Signature: last.Commitment.Signature[:], Entries: entries}
	_, err := signed.Check(place, f.key.PublicKey(), []format.Asked{{GPU: 0, Profile: small}, {GPU: 3, Profile: small}})
	require.NoError(t, err)
	for i, e := range entries {
		require.NoError(t, format.CheckRoots(e, roots[e.GPU], nil), i)
	}
}

// A member that reads nothing holds up neither the run nor another, and has all roots in one piece when it reads again.
func TestSlowReadersHoldUpNobody(t *testing.T) {
	f := newFixture(t, right1)
	req := block(period, 0)
	slow := f.joins(t.Context(), 0, req)
	f.rounds(0, 1) // whatever was sent of it waits in the slow reader's stream
	fast := f.joins(t.Context(), 1, req)
	go func() { f.rounds(1, 200); f.end() }()
	roots, last, _ := fast.all(t)
	require.Len(t, roots[3], 201)
	require.NotNil(t, last.Commitment)
	got, same, items := slow.all(t)
	require.Equal(t, roots, got)
	require.Equal(t, last, same)
	require.LessOrEqual(t, items, 6, "what waits is sent together")
}

// A reader that never reads ends with its connection, and the run without it.
func TestAReaderThatLeavesIsForgotten(t *testing.T) {
	f := newFixture(t, right1)
	ctx, leave := context.WithCancel(t.Context())
	gone := f.joins(ctx, 0, block(period, 0))
	f.rounds(0, 1)
	leave()
	require.ErrorIs(t, <-gone.err, context.Canceled)
	stays := f.joins(t.Context(), 1, block(period, 0))
	go f.end()
	_, last, _ := stays.all(t)
	require.NotNil(t, last.Commitment)
}

func TestALeaseIsNotMeasured(t *testing.T) {
	f := newFixture(t, right1)
	f.sets(true)
	require.Equal(t, messages.MeasureLease, f.refused(t, 0, block(period, 0)))
	require.Zero(t, f.devices[0].runs.Load())
	f.sets(false) // it has ended, and there is still time
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	require.NotNil(t, s.next(t).Roots)
}

// A lease that begins ends the run, also while GPUs compute, and there is no other in this period.
func TestALeaseEndsTheRun(t *testing.T) {
	f := newFixture(t, right1)
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 2)
	f.sets(true)
	_, last, _ := s.all(t)
	require.Equal(t, messages.MeasureLease, last.Refused)
	f.sets(false)
	require.Equal(t, messages.MeasureLease, f.refused(t, 1, block(period, 0)))
	require.EqualValues(t, 1, f.devices[0].runs.Load())
}

// Who waits for the memory waits for as long as a run has it, and no longer.
func TestTheMemoryIsFreeWhenARunHasEnded(t *testing.T) {
	f := newFixture(t, right1)
	require.NoError(t, f.Free(t.Context(), solana.PublicKey{}), "nothing was measured yet")
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 2)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f.Free(soon, solana.PublicKey{}), context.DeadlineExceeded)
	free := make(chan error, 1)
	go func() { free <- f.Free(t.Context(), solana.PublicKey{}) }()
	f.end()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	select {
	case <-free:
		t.Fatal("the run can still be opened")
	case <-time.After(50 * time.Millisecond):
	}
	f.sets(true)
	require.NoError(t, <-free)
	require.Zero(t, f.devices[0].open.Load())
	require.NoError(t, f.Free(t.Context(), solana.PublicKey{}))
}

// A lease that begins after the commitment takes the memory at once, also from an opening that is under way.
func TestALeaseEndsOpenings(t *testing.T) {
	f := newFixture(t, right1)
	opening := make(chan struct{})
	f.devices[0].opening = func(ctx context.Context) error {
		close(opening)
		<-ctx.Done()
		return ctx.Err()
	}
	s := f.joins(t.Context(), 0, block(period, 0))
	go func() { f.rounds(0, 1); f.end() }()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	ended := make(chan error, 1)
	go func() {
		_, err := f.Open(context.Background(), f.keepers[0], messages.MeasureOpenRequest{
			Version: messages.Version, Node: account, Period: uint64(period), GPU: 0,
		})
		ended <- err
	}()
	<-opening
	f.sets(true)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { return f.devices[0].open.Load() == 0 && f.devices[1].open.Load() == 0 }, waitLimit, time.Millisecond)
	require.NoError(t, f.Free(t.Context(), solana.PublicKey{})) // until then an opening may end with the run
	require.Equal(t, messages.MeasureLease, f.opens(t, 0, 3, 1).Refused)
	require.Equal(t, messages.MeasureLease, f.refused(t, 1, block(period, 0)))
}

func TestAGPUThatFails(t *testing.T) {
	f := newFixture(t, right1)
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	f.devices[1].fails <- errBroken
	_, last, _ := s.all(t)
	require.Equal(t, messages.MeasureFailed, last.Refused)
	require.Equal(t, messages.MeasureFailed, f.refused(t, 1, block(period, 0)))
}

// What is opened of a GPU is bounded for each member: one draw, three times.
func TestOpeningsAreBounded(t *testing.T) {
	f := newFixture(t, right1)
	require.Equal(t, messages.MeasureOver, f.opens(t, 0, 0, 1).Refused, "there is no run")
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	require.Equal(t, messages.MeasureOver, f.opens(t, 0, 0, 1).Refused, "nothing is committed")
	go f.end()
	s.all(t)
	require.Equal(t, messages.MeasureOver, f.opens(t, 1, 0, 1).Refused, "it has not joined")
	require.Equal(t, messages.MeasureTooMany, f.opens(t, 0, 1, 1).Refused, "there is no such GPU")
	for range maxOpenings {
		require.NotEmpty(t, f.opens(t, 0, 0, 1).Answer)
		require.Equal(t, messages.MeasureTooMany, f.opens(t, 0, 0, 2).Refused, "another draw")
	}
	require.Equal(t, messages.MeasureTooMany, f.opens(t, 0, 0, 1).Refused)
	require.NotEmpty(t, f.opens(t, 0, 3, 2).Answer, "another GPU has its own")
	f.devices[1].opening = func(context.Context) error { return errBroken }
	require.Equal(t, messages.MeasureFailed, f.opens(t, 0, 3, 2).Refused)
}

// The memory is given back when the time of openings is over.
func TestOpeningsEnd(t *testing.T) {
	f := newFixture(t, right1, func(o *Options) { o.OpenFor = time.Millisecond })
	s := f.joins(t.Context(), 0, block(period, 0))
	go func() { f.rounds(0, 1); f.end() }()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment, "who has joined is sent it, however late")
	require.Eventually(t, func() bool { return f.opens(t, 0, 0, 1).Refused == messages.MeasureOver }, waitLimit, time.Millisecond)
	require.Equal(t, messages.MeasureOver, f.refused(t, 1, block(period, 0)))
	require.Eventually(t, func() bool { return f.devices[0].open.Load() == 0 }, waitLimit, time.Millisecond)
}

func TestMembersOfARunAreBounded(t *testing.T) {
	f := newFixture(t, right1)
	for k := range maxMembers {
		s := f.joins(t.Context(), k, block(period, 0))
		if k == 0 {
			f.rounds(0, 1)
		}
		require.NotNil(t, s.next(t).Roots)
	}
	require.Equal(t, messages.MeasureTooMany, f.refused(t, maxMembers, block(period, 0)))
	require.NotNil(t, f.joins(t.Context(), 5, block(period, 0)).next(t).Roots, "who has joined may again")
}
