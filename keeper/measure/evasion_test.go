package measure

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	agent "github.com/gantry-market/gantry/agent/measure"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/market/instant"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// What a machine may do in place of the agent.
type (
	joining = func(ctx context.Context, send func(messages.MeasureItem) error) error
	opening = func(ctx context.Context, req messages.MeasureOpenRequest) (messages.MeasureOpening, error)
)

// plays has the machine answer as it is told.
func (m *machine) plays(join joining, open opening) {
	p2p.HandleStream(m.peer, joinProtocol, func(ctx context.Context, _ solana.PublicKey, _ messages.MeasureRequest, send func(messages.MeasureItem) error) error {
		return join(ctx, send)
	})
	p2p.Handle(m.peer, openProtocol, func(ctx context.Context, _ solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
		return open(ctx, req)
	})
}

// recorded is what the machine's own agent answers at an instant, from the first root to the commitment.
func (m *machine) recorded(t *testing.T, at instant.Instant) []messages.MeasureItem {
	t.Helper()
	place := format.Place{Domain: domain, Instant: at.Seed, Node: account}
	var items []messages.MeasureItem
	var entries []format.Entry
	var encoded []byte
	for _, g := range m.gpus {
		run, err := g.Device.Run(t.Context(), format.NewTask(place, g.Index, g.Profile), func(r uint32, root format.Hash) {
			items = append(items, messages.MeasureItem{Roots: &messages.MeasureRoots{GPU: g.Index, First: r, Roots: root[:]}})
		})
		require.NoError(t, err)
		e := run.Result().Entry(g.Index, g.Profile)
		b := e.Bytes()
		entries, encoded = append(entries, e), append(encoded, b[:]...)
	}
	c := format.Commit(place, entries).Bytes()
	signature, err := m.key.Sign(c)
	require.NoError(t, err)
	return append(items, messages.MeasureItem{Commitment: &messages.MeasureCommitment{Commitment: c, Signature: signature, Entries: encoded}})
}

func sends(items ...messages.MeasureItem) joining {
	return func(_ context.Context, send func(messages.MeasureItem) error) error {
		for _, i := range items {
			if err := send(i); err != nil {
				return err
			}
		}
		return nil
	}
}

// signs has the machine sign what it answers of a recorded commitment.
func (m *machine) signs(t *testing.T, all []messages.MeasureItem, req messages.MeasureOpenRequest, o messages.MeasureOpening) messages.MeasureOpening {
	t.Helper()
	c := all[len(all)-1].Commitment.Commitment
	signature, err := records.NewOpening(c, req.Challenge, req.GPU, uint8(o.Refused), o.Answer).Sign(m.key)
	require.NoError(t, err)
	o.Signature = signature
	return o
}

func hangs(ctx context.Context, _ messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
	<-ctx.Done()
	return messages.MeasureOpening{}, ctx.Err()
}

// A machine that never answers is not told from one that is away: liveness says which.
func TestAMachineThatHangs(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	all := m.recorded(t, block(period, 0))
	for name, before := range map[string][]messages.MeasureItem{"nothing comes": nil, "some roots come": all[:1], "all roots come": all[:len(all)-1]} {
		t.Run(name, func(t *testing.T) {
			m.plays(func(ctx context.Context, send func(messages.MeasureItem) error) error {
				if err := sends(before...)(ctx, send); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}, hangs)
			r := m.member(t, hasty).asks(t, m)
			require.Equal(t, Unknown, r.Outcome)
			require.ErrorIs(t, r.Why, asking.ErrSilent)
		})
	}
}

// A machine that has signed and opens nothing has failed, unless a lease has begun.
func TestAMachineThatOpensNothing(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	all := m.recorded(t, block(period, 0))
	for name, open := range map[string]opening{
		"silence": hangs,
		"refusal": func(context.Context, messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return messages.MeasureOpening{Refused: messages.MeasureOver}, nil
		},
		"refusal of the handler": func(context.Context, messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return messages.MeasureOpening{}, p2p.Refuse(p2p.CodeUnavailable, "")
		},
		"error": func(context.Context, messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return messages.MeasureOpening{}, errors.New("broken")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m.plays(sends(all...), open)
			patient := func(o *Options) { o.Wait = short }
			r := m.member(t, patient).asks(t, m)
			require.Equal(t, Wrong, r.Outcome)
			require.ErrorIs(t, r.Why, asking.ErrUnopened)
			require.Equal(t, Unknown, m.member(t, patient, excused).asks(t, m).Outcome)
		})
	}
	t.Run("an answer that it does not sign", func(t *testing.T) {
		m.plays(sends(all...), func(context.Context, messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return messages.MeasureOpening{Answer: make([]byte, 100)}, nil
		})
		r := m.member(t).asks(t, m)
		require.Equal(t, Wrong, r.Outcome)
		require.ErrorIs(t, r.Why, asking.ErrUnopened)
	})
	t.Run("another answer", func(t *testing.T) {
		m.plays(sends(all...), func(_ context.Context, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
			return m.signs(t, all, req, messages.MeasureOpening{Answer: make([]byte, 100)}), nil
		})
		r := m.member(t).asks(t, m)
		require.Equal(t, Wrong, r.Outcome)
		require.ErrorIs(t, r.Why, format.ErrSize)
	})
}

// An honest machine has seen the block before it commits. One that names another block then has opened nothing.
func TestAMachineThatSeesAnotherBlockAfterItsCommitment(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	m.plays(sends(m.recorded(t, block(period, 0))...), func(context.Context, messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
		return messages.MeasureOpening{Refused: messages.MeasureBlock}, nil
	})
	r := m.member(t).asks(t, m)
	require.Equal(t, Wrong, r.Outcome, "keepers excuse it once, since its agent may have started again")
	require.ErrorIs(t, r.Why, asking.ErrUnopened)
	require.EqualError(t, refusalOf(t, r), "the machine refuses: "+messages.MeasureBlock.String())
}

// A machine commits once: it cannot be ready with one commitment and sign another, and the time ends when it is ready.
func TestTheCommitmentIsThatOfTheReadyMachine(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	all := m.recorded(t, block(period, 0))
	m.plays(sends(slices.Concat(all[:len(all)-1], []messages.MeasureItem{{Ready: &[32]byte{1}}}, all[len(all)-1:])...), hangs)
	r := m.member(t).asks(t, m)
	require.Equal(t, Wrong, r.Outcome)
	require.ErrorIs(t, r.Why, format.ErrSeen)
}

// A machine of eight GPUs that answers for each as late as it may is not waited for eight times as long.
func TestOpeningsOfAllGPUsHaveOneTime(t *testing.T) {
	m := newMachine(t, slices.Repeat([]format.Device{processor.Faulty{}}, format.MaxGPUs)...)
	all := m.recorded(t, block(period, 0))
	var asked atomic.Int32
	m.plays(sends(all...), func(ctx context.Context, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
		if asked.Add(1)%2 == 1 { // every other question is lost
			<-ctx.Done()
			return messages.MeasureOpening{}, ctx.Err()
		}
		return m.signs(t, all, req, messages.MeasureOpening{Answer: []byte{req.GPU}}), nil
	})
	r := m.member(t, func(o *Options) { o.Wait = short }).asks(t, m)
	require.Equal(t, Wrong, r.Outcome)
	require.ErrorIs(t, r.Why, asking.ErrUnopened)
	require.Less(t, asked.Load(), int32(2*format.MaxGPUs))
}

// What no honest machine sends has failed, at once and with little memory.
func TestNonsense(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	all := m.recorded(t, block(period, 0))
	signed := *all[len(all)-1].Commitment
	roots := func(gpu uint8, first uint32, n int) messages.MeasureItem {
		return messages.MeasureItem{Roots: &messages.MeasureRoots{GPU: gpu, First: first, Roots: make([]byte, n)}}
	}
	with := func(change func(*messages.MeasureCommitment)) []messages.MeasureItem {
		c := signed
		change(&c)
		return append(all[:len(all)-1:len(all)-1], messages.MeasureItem{Commitment: &c})
	}
	for name, c := range map[string]struct {
		items []messages.MeasureItem
		want  error
	}{
		"nothing in an item":    {[]messages.MeasureItem{{}}, asking.ErrNonsense},
		"two in an item":        {[]messages.MeasureItem{{Refused: messages.MeasureLease, Roots: &messages.MeasureRoots{Roots: make([]byte, 32)}}}, asking.ErrNonsense},
		"half a root":           {[]messages.MeasureItem{roots(0, 0, 33)}, asking.ErrNonsense},
		"no root":               {[]messages.MeasureItem{roots(0, 0, 0)}, asking.ErrNonsense},
		"a round left out":      {[]messages.MeasureItem{roots(0, 1, 32)}, asking.ErrNonsense},
		"a round twice":         {[]messages.MeasureItem{roots(0, 0, 32), roots(0, 0, 32)}, asking.ErrNonsense},
		"another GPU":           {[]messages.MeasureItem{roots(1, 0, 32)}, asking.ErrNonsense},
		"too many rounds":       {[]messages.MeasureItem{roots(0, 0, 32*format.MaxRounds), roots(0, format.MaxRounds, 32)}, asking.ErrNonsense},
		"more than a message":   {[]messages.MeasureItem{roots(0, 0, 32*format.MaxRounds+32)}, asking.ErrNonsense},
		"half an entry":         {with(func(c *messages.MeasureCommitment) { c.Entries = c.Entries[:100] }), asking.ErrNonsense},
		"no commitment":         {with(func(c *messages.MeasureCommitment) { c.Commitment = nil }), format.ErrEncoding},
		"no entry":              {with(func(c *messages.MeasureCommitment) { c.Entries = nil }), format.ErrEntries},
		"another entry":         {with(func(c *messages.MeasureCommitment) { c.Entries = make([]byte, format.EntryBytes) }), format.ErrEntries},
		"another signature":     {with(func(c *messages.MeasureCommitment) { c.Signature[3]++ }), format.ErrSignature},
		"roots left out":        {[]messages.MeasureItem{all[0], all[len(all)-1]}, format.ErrRoots},
		"no roots":              {all[len(all)-1:], format.ErrRoots},
		"another root than his": {append([]messages.MeasureItem{roots(0, 0, 32)}, all[1:]...), format.ErrRoots},
		"an instant before":     {m.recorded(t, block(period-1, 0)), format.ErrPlace},
	} {
		t.Run(name, func(t *testing.T) {
			m.plays(sends(c.items...), hangs)
			r := m.member(t, excused).asks(t, m)
			require.Equal(t, Wrong, r.Outcome, "%v", r.Why)
			require.ErrorIs(t, r.Why, c.want)
		})
	}
}

// A handler that refuses has refused; one that fails may have met a fault.
func TestHandlersThatEndTheStream(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	for name, c := range map[string]struct {
		err  error
		want Outcome
	}{
		"refused":     {p2p.Refuse(p2p.CodeRefused, "no"), Refused},
		"unavailable": {p2p.Refuse(p2p.CodeUnavailable, "no"), Refused},
		"busy":        {p2p.Refuse(p2p.CodeRateLimited, "no"), Unknown},
		"error":       {errors.New("broken"), Unknown},
		"end":         {nil, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			m.plays(func(context.Context, func(messages.MeasureItem) error) error { return c.err }, hangs)
			require.Equal(t, c.want, m.member(t).asks(t, m).Outcome)
		})
	}
	require.Equal(t, Refused, newMachine(t, processor.Faulty{}).askedWithoutHandler(t), "a machine that does not speak the protocol")
}

func (m *machine) askedWithoutHandler(t *testing.T) Outcome { return m.member(t).asks(t, m).Outcome }

// A node that cannot be reached is unknown.
func TestNoConnection(t *testing.T) {
	m := newMachine(t, processor.Faulty{})
	r := newMember(t, Peers{peerOf(t)}).asks(t, m)
	require.Equal(t, Unknown, r.Outcome)
	require.ErrorIs(t, r.Why, p2p.ErrUnknown)
}

// direct is a network whose streams a test cuts. Each join goes to the next of its agents.
type direct struct {
	from   solana.PublicKey
	agents []*agent.Server
	cut    []func(items int) bool // of each join
	ended  []func()               // what is done after it
	joins  int
}

var errCut = errors.New("the stream is cut")

func (d *direct) Join(ctx context.Context, _ solana.PublicKey, req messages.MeasureRequest, item func(messages.MeasureItem) error) error {
	i := d.joins
	d.joins++
	defer d.ended[i]()
	items := 0
	return d.agents[i].Join(ctx, d.from, req, func(m messages.MeasureItem) error {
		if items++; d.cut[i](items) {
			return errCut
		}
		return item(m)
	})
}

func (d *direct) Open(ctx context.Context, _ solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
	return d.agents[d.joins-1].Open(ctx, d.from, req)
}

func (d *direct) Renew(context.Context, solana.PublicKey) error { return nil }

// An agent that is killed while it is measured, and starts again, is measured: its roots are the same.
func TestAnAgentStartsAgain(t *testing.T) {
	m := newMachine(t, processors(t))
	ctx, kill := context.WithCancel(t.Context())
	d := &direct{
		from:   key(t).PublicKey(),
		agents: []*agent.Server{m.agent(t, ctx), m.agent(t, t.Context())},
		cut:    []func(int) bool{func(n int) bool { return n > 1 }, func(int) bool { return false }},
		ended:  []func(){kill, func() {}},
	}
	r := newMember(t, d).asks(t, m)
	require.Equal(t, Measured, r.Outcome, "%v", r.Why)
	require.Equal(t, 2, d.joins)
}
