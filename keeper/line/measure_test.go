package line

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	format "github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

func TestOptionsAreComplete(t *testing.T) {
	options.Without(Options{Network: Peers{&p2p.Node{}}}, []string{"Limit"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// A member measures both directions, and the node answers it once.
func TestAMemberMeasuresALine(t *testing.T) {
	m := newMachine(t)
	k, _ := m.member(t)
	r := k.Measure(t.Context(), m.node(), block(period, 0, true))
	require.NoError(t, r.Why)
	require.Equal(t, Measured, r.Outcome)
	require.Greater(t, r.Down, uint32(20))
	require.Greater(t, r.Up, uint32(20))
	require.EqualValues(t, 2*format.Blocks*format.Block, m.server.Counts().Bytes)
	t.Logf("loopback: %d Mbit/s down, %d up", r.Down, r.Up)

	r = k.Measure(t.Context(), m.node(), block(period, 0, true))
	require.Equal(t, Refused, r.Outcome)
	require.Equal(t, messages.LineSpent, r.Refused)
}

// A throttled line has the figures of its throttle: never more, and not much less, each way for itself.
func TestAThrottledLine(t *testing.T) {
	for _, c := range []struct{ down, up float64 }{{80, 16}, {16, 80}, {100, 100}} {
		m := newMachine(t)
		k, _ := m.member(t, throttled(t, m.peer, c.down, c.up))
		r := k.Measure(t.Context(), m.node(), block(period, 0, true))
		require.Equal(t, Measured, r.Outcome, "%v", r.Why)
		t.Logf("a line of %v/%v Mbit/s: %d down, %d up", c.down, c.up, r.Down, r.Up)
		for _, f := range []struct {
			got  uint32
			want float64
		}{{r.Down, c.down}, {r.Up, c.up}} {
			// The bucket lets 64 KiB of 6 MiB pass at once: 2 % of the least window.
			require.LessOrEqual(t, float64(f.got), 1.03*f.want)
			require.GreaterOrEqual(t, float64(f.got), 0.6*f.want)
		}
	}
}

// A line on which not all moves in time is measured by what did.
func TestAVerySlowLine(t *testing.T) {
	m := newMachine(t)
	k, _ := m.member(t, throttled(t, m.peer, 6, 6))
	k.o.Limit = 2 * time.Second
	r := k.Measure(t.Context(), m.node(), block(period, 0, true))
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.NoError(t, r.Why, "slow is no error")
	require.LessOrEqual(t, r.Down, uint32(6))
	require.LessOrEqual(t, r.Up, uint32(6))
	require.Positive(t, r.Up)
}

// All five members of a committee, and no more, measure within what a node moves in a day; one at a time.
func TestACommitteeMeasures(t *testing.T) {
	m := newMachine(t)
	var wg sync.WaitGroup
	var results [committee.Size]Result
	for i := range results {
		k, _ := m.member(t)
		wg.Go(func() {
			for {
				results[i] = k.Measure(t.Context(), m.node(), block(period, 0, true))
				if results[i].Refused != messages.LineBusy {
					return
				}
				time.Sleep(1500 * time.Millisecond) // more often it would be too often
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	}
	require.EqualValues(t, committee.Size*2*format.Blocks*format.Block, m.server.Counts().Bytes)
	late, _ := m.member(t)
	require.Equal(t, messages.LineSpent, late.Measure(t.Context(), m.node(), block(period, 0, true)).Refused)
	m.change(func() { m.now = m.now.Add(time.Hour) })
	r := late.Measure(t.Context(), m.node(), block(period+1, 0, true))
	require.Equal(t, messages.LineSpent, r.Refused, "another period of the same window")
	m.change(func() { m.now = m.now.Add(23 * time.Hour) })
	r = late.Measure(t.Context(), m.node(), block(period+24, 0, true))
	require.Equal(t, Measured, r.Outcome, "%v: the next window", r.Why)
}

// A node that puts the second direction off is asked for that alone when it is asked again.
func TestTheOtherDirectionIsMadeLater(t *testing.T) {
	var asked []messages.LineDirection
	m := &machine{market: newMarket(), peer: peerOf(t, key(t))}
	p2p.HandleConn(m.peer, protocol, func(_ context.Context, _ solana.PublicKey, req messages.LineRequest, accept func(messages.LineAnswer) (net.Conn, error)) error {
		asked = append(asked, req.Direction)
		var answer messages.LineAnswer
		if len(asked) == 2 {
			answer.Refused = messages.LineBusy
		}
		c, err := accept(answer)
		if err != nil || answer.Refused != 0 {
			return err
		}
		return answers(c, req.Direction, format.Blocks)
	})
	k := newMember(t, Peers{m.keeper(t)})
	at := block(period, 0, true)
	require.Equal(t, messages.LineBusy, k.Measure(t.Context(), m.node(), at).Refused)
	r := k.Measure(t.Context(), m.node(), at)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.Positive(t, r.Down)
	require.Positive(t, r.Up)
	require.Equal(t, []messages.LineDirection{messages.LineDown, messages.LineUp, messages.LineUp}, asked)
	require.Equal(t, Measured, k.Measure(t.Context(), m.node(), block(period+24, 0, true)).Outcome)
	require.Len(t, asked, 5, "at another instant both")
}

// What is not to be measured moves no byte.
func TestWhatIsRefused(t *testing.T) {
	at := block(period, 0, true)
	for name, c := range map[string]struct {
		before func(m *machine, k *p2p.Node)
		at     int
		undraw bool
		want   messages.LineRefusal
	}{
		"a keeper of another committee": {before: func(m *machine, k *p2p.Node) { m.members[k.Key()] = false }, want: messages.LineUndrawn},
		"another block":                 {at: 1, want: messages.LineUndrawn},
		"a block that does not draw it": {undraw: true, want: messages.LineUndrawn},
		"a lease":                       {before: func(m *machine, _ *p2p.Node) { m.busy = true }, want: messages.LineLease},
		"a later period":                {before: func(m *machine, _ *p2p.Node) { m.now = m.now.Add(3 * time.Hour) }, want: messages.LineOver},
		"the next period":               {before: func(m *machine, _ *p2p.Node) { m.now = m.now.Add(time.Hour) }, want: messages.LineOver},
		"before its tick":               {before: func(m *machine, _ *p2p.Node) { m.now = m.now.Add(-2 * time.Minute) }, want: messages.LineOver},
		"a chain that is not read":      {before: func(m *machine, _ *p2p.Node) { m.fails = errors.New("no chain") }, want: messages.LineUnready},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			k, peer := m.member(t)
			if c.before != nil {
				m.change(func() { c.before(m, peer) })
			}
			at := at
			if c.at != 0 || c.undraw {
				at = block(period, c.at, !c.undraw)
			}
			r := k.Measure(t.Context(), m.node(), at)
			require.Equal(t, Refused, r.Outcome)
			require.Equal(t, c.want, r.Refused, c.want.String())
			require.Zero(t, m.server.Counts().Begun)
			require.Zero(t, m.server.Counts().Bytes)
		})
	}
}

// A keeper that names blocks that are no instants has none looked up any more.
func TestWrongBlocksAreLookedUpOnce(t *testing.T) {
	m := newMachine(t)
	k, _ := m.member(t)
	for i := range 3 {
		require.Equal(t, messages.LineUndrawn, k.Measure(t.Context(), m.node(), block(period, 1+i, true)).Refused)
	}
	require.Equal(t, 1, m.lookups)
	require.Equal(t, messages.LineUndrawn, k.Measure(t.Context(), m.node(), block(period, 0, true)).Refused, "and it measures nothing any more")
	other, _ := m.member(t)
	require.Equal(t, Measured, other.Measure(t.Context(), m.node(), block(period, 0, true)).Outcome)
}

// A keeper that stops in the middle holds others up for the time of a transfer at most, and is not answered again.
func TestAKeeperThatStops(t *testing.T) {
	m := newMachine(t)
	_, peer := m.member(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	at := block(period, 0, true)
	c, answer, err := Peers{peer}.Dial(ctx, m.peer.Key(), messages.LineRequest{
		Version: messages.Version, Node: account, Period: uint64(period), Slot: at.Slot, BlockHash: at.Hash, Direction: messages.LineUp,
	})
	require.NoError(t, err)
	require.Zero(t, answer.Refused)
	k, _ := m.member(t)
	require.Equal(t, messages.LineBusy, k.Measure(t.Context(), m.node(), at).Refused)
	began := time.Now()
	_, err = c.Read(make([]byte, 1)) // the node ends it
	require.Error(t, err)
	require.Less(t, time.Since(began), format.Limit+10*time.Second)
	time.Sleep(3 * time.Second) // its turn is kept for its other direction
	r := k.Measure(t.Context(), m.node(), at)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
}

// plays has a machine answer as a test has it.
func plays(t *testing.T, h func(c net.Conn, d messages.LineDirection) error) *machine {
	m := &machine{market: newMarket(), peer: peerOf(t, key(t))}
	p2p.HandleConn(m.peer, protocol, func(_ context.Context, _ solana.PublicKey, req messages.LineRequest, accept func(messages.LineAnswer) (net.Conn, error)) error {
		c, err := accept(messages.LineAnswer{})
		if err != nil {
			return err
		}
		return h(c, req.Direction)
	})
	return m
}

func halfway(c net.Conn, d messages.LineDirection) error { return answers(c, d, format.Blocks/2) }

// Once a node has accepted, nothing that it does gains it a figure: not wrong bytes, nor an end, nor silence.
func TestANodeThatCheats(t *testing.T) {
	for name, c := range map[string]struct {
		plays func(net.Conn, messages.LineDirection) error
		most  uint32
		wrong bool
	}{
		"ends at once":  {plays: func(net.Conn, messages.LineDirection) error { return nil }, most: 1},
		"ends half way": {plays: halfway, most: 25}, // 3 MiB over the second that it may take
		"says nothing": {plays: func(c net.Conn, _ messages.LineDirection) error {
			_, err := io.Copy(io.Discard, c)
			return err
		}, most: 1},
		"makes bytes up": {plays: func(c net.Conn, d messages.LineDirection) error {
			b := make([]byte, format.Blocks*format.Block)
			_, err := c.Write(b)
			return err
		}, most: 1, wrong: true},
		"answers what it was asked before": {plays: func(c net.Conn, d messages.LineDirection) error {
			if d == messages.LineDown {
				h := format.Hash(make([]byte, format.Block))
				for range format.Blocks {
					if _, err := c.Write(h[:]); err != nil {
						return err
					}
				}
				return nil
			}
			b := make([]byte, format.Block)
			format.Expand(format.Seed{}, b)
			_, err := c.Write(b)
			return err
		}, most: 1, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := plays(t, c.plays)
			k := newMember(t, Peers{m.keeper(t)})
			k.o.Limit = time.Second
			r := k.Measure(t.Context(), m.node(), block(period, 0, true))
			require.Equal(t, Measured, r.Outcome)
			require.LessOrEqual(t, r.Down, c.most)
			require.LessOrEqual(t, r.Up, c.most)
			if c.wrong {
				require.ErrorIs(t, r.Why, ErrWrong)
			}
		})
	}
}

// A node that cannot be reached, or only through a relay, is unknown, and so is one whose keeper ends.
func TestWhatIsUnknown(t *testing.T) {
	m := newMachine(t)
	alone := newMember(t, Peers{peerOf(t, key(t))})
	require.Equal(t, Unknown, alone.Measure(t.Context(), m.node(), block(period, 0, true)).Outcome)
	_, peer := m.member(t)
	r := newMember(t, relayed{Peers{peer}}).Measure(t.Context(), m.node(), block(period, 0, true))
	require.Equal(t, Unknown, r.Outcome)
	require.ErrorIs(t, r.Why, ErrRelayed)

	silent := plays(t, func(c net.Conn, _ messages.LineDirection) error {
		_, err := io.Copy(io.Discard, c)
		return err
	})
	k := newMember(t, Peers{silent.keeper(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	require.Equal(t, Unknown, k.Measure(ctx, silent.node(), block(period, 0, true)).Outcome)
	require.Less(t, time.Since(began), format.Limit/2)
}

type relayed struct{ Peers }

func (relayed) Direct(solana.PublicKey) bool { return false }

// A handler that refuses without a reason, or does not speak the protocol, has refused.
func TestHandlersThatRefuse(t *testing.T) {
	m := &machine{market: newMarket(), peer: peerOf(t, key(t))}
	k := newMember(t, Peers{m.keeper(t)})
	require.Equal(t, Refused, k.Measure(t.Context(), m.node(), block(period, 0, true)).Outcome, "no such protocol")
	p2p.HandleConn(m.peer, protocol, func(context.Context, solana.PublicKey, messages.LineRequest, func(messages.LineAnswer) (net.Conn, error)) error {
		return p2p.Refuse(p2p.CodeRefused, "no")
	})
	r := newMember(t, Peers{m.keeper(t)}).Measure(t.Context(), m.node(), block(period, 0, true))
	require.Equal(t, Refused, r.Outcome)
	require.Zero(t, r.Refused)
}
