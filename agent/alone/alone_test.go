package alone

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// keeper asks processes, as a keeper does, unless it lies.
type keeper struct {
	all []*Process
	lie func(req messages.BootsRequest, honest messages.BootsAnswer) (messages.BootsAnswer, error)
}

func (k *keeper) ask(ctx context.Context, _ solana.PublicKey, req messages.BootsRequest) (out messages.BootsAnswer, err error) {
	for _, p := range k.all {
		b, err := p.Answer(ctx, solana.PublicKey{9}, messages.BootRequest{Nonce: req.Nonce})
		if err != nil {
			return out, err
		}
		out.Boots = append(out.Boots, b)
	}
	if k.lie != nil {
		return k.lie(req, out)
	}
	return out, nil
}

func (k *keeper) process(t *testing.T, key solana.PrivateKey, up time.Duration) *Process {
	t.Helper()
	p, err := New(Options{
		Signer: key, Domain: records.Domain{1}, Keepers: func() []solana.PublicKey { return []solana.PublicKey{{9}} }, Ask: k.ask, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	p.since = time.Now().Add(-up)
	k.all = append(k.all, p)
	return p
}

func newKey(t *testing.T) solana.PrivateKey {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return key
}

// Of two processes with one key the one that began later stops, and says why; the other goes on.
func TestACopyStopsAndTheOriginalGoesOn(t *testing.T) {
	k, key := &keeper{}, newKey(t)
	original := k.process(t, key, time.Hour)
	require.NoError(t, original.Before(t.Context(), true), "it is alone")
	cloned := k.process(t, key, 0)
	err := cloned.Before(t.Context(), true)
	require.ErrorIs(t, err, ErrAnother)
	require.ErrorContains(t, err, "has run for 1h0m0s")
	require.ErrorContains(t, err, "gantry-agent init")
	require.NoError(t, original.Check(t.Context()))
}

// Of two that begin at one instant one stops.
func TestOfTwoAtOnceOneStops(t *testing.T) {
	k, key := &keeper{}, newKey(t)
	a, b := k.process(t, key, 0), k.process(t, key, 0)
	stopped := 0
	for _, p := range []*Process{a, b} {
		if errors.Is(p.Before(t.Context(), true), ErrAnother) {
			stopped++
		}
	}
	require.Equal(t, 1, stopped)
}

// A keeper cannot stop an honest agent: not with what the agent's earlier process has signed, which has other nonces, not
// with records of other keys or clusters, with the agent's own record changed, or with errors.
func TestAKeeperCannotStopAnHonestAgent(t *testing.T) {
	key, stranger := newKey(t), newKey(t)
	earlier := (&keeper{}).process(t, key, time.Hour) // has ended
	var seen messages.BootAnswer
	lies := map[string]func(req messages.BootsRequest, honest messages.BootsAnswer) (messages.BootsAnswer, error){
		"an answer of the earlier process to another nonce": func(_ messages.BootsRequest, a messages.BootsAnswer) (messages.BootsAnswer, error) {
			a.Boots = append(a.Boots, seen)
			return a, nil
		},
		"another key": func(req messages.BootsRequest, a messages.BootsAnswer) (messages.BootsAnswer, error) {
			b := records.Boot{Domain: records.Domain{1}, Nonce: req.Nonce, ID: records.BootID{1}, UpMillis: 1 << 40}
			sig, err := b.Sign(stranger)
			a.Boots = append(a.Boots, messages.BootAnswer{Boot: b.ID, UpMillis: b.UpMillis, Signature: sig})
			return a, err
		},
		"another cluster": func(req messages.BootsRequest, a messages.BootsAnswer) (messages.BootsAnswer, error) {
			b := records.Boot{Domain: records.Domain{2}, Nonce: req.Nonce, ID: records.BootID{1}, UpMillis: 1 << 40}
			sig, err := b.Sign(key)
			a.Boots = append(a.Boots, messages.BootAnswer{Boot: b.ID, UpMillis: b.UpMillis, Signature: sig})
			return a, err
		},
		"the agent's own answer under another id": func(_ messages.BootsRequest, a messages.BootsAnswer) (messages.BootsAnswer, error) {
			a.Boots[0].Boot[0]++
			a.Boots[0].UpMillis = 1 << 40
			return a, nil
		},
		"no answers": func(messages.BootsRequest, messages.BootsAnswer) (messages.BootsAnswer, error) {
			return messages.BootsAnswer{}, errors.New("refused")
		},
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			k := &keeper{lie: lie}
			var err error
			seen, err = earlier.Answer(t.Context(), solana.PublicKey{9}, messages.BootRequest{Nonce: [32]byte{5}})
			require.NoError(t, err)
			require.NoError(t, k.process(t, key, 0).Before(t.Context(), true))
		})
	}
}

// Without keepers an agent serves at once; it waits where there are some, and not for good.
func TestAnAgentWithoutKeepersServes(t *testing.T) {
	p, err := New(Options{
		Signer: newKey(t), Domain: records.Domain{1}, Keepers: func() []solana.PublicKey { return nil },
		Ask: func(context.Context, solana.PublicKey, messages.BootsRequest) (messages.BootsAnswer, error) {
			t.Error("nobody is there to ask")
			return messages.BootsAnswer{}, nil
		}, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, p.Before(t.Context(), false))
	require.Less(t, time.Since(began), time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Before(ctx, true), context.DeadlineExceeded)
}

// An agent that no keeper has answered serves, and asks again soon: a copy that met a busy keeper is found within seconds.
func TestACopyThatNobodyAnsweredAsksAgainSoon(t *testing.T) {
	k, key := &keeper{}, newKey(t)
	k.process(t, key, time.Hour)
	asked := 0
	k.lie = func(_ messages.BootsRequest, honest messages.BootsAnswer) (messages.BootsAnswer, error) {
		if asked++; asked < 3 {
			return messages.BootsAnswer{}, errors.New("busy")
		}
		return honest, nil
	}
	cloned := k.process(t, key, 0)
	cloned.soon, cloned.again = time.Millisecond, time.Hour
	require.NoError(t, cloned.Before(t.Context(), true))
	require.ErrorIs(t, cloned.Run(t.Context()), ErrAnother)
	require.Equal(t, 3, asked)
}

// Two begin within two seconds. The first finds itself alone, and serves; the second has the greater id. The first stops as
// soon as the second has asked, and not only when it would ask again.
func TestTheOneThatServesStopsWhenAnotherAsks(t *testing.T) {
	k, key := &keeper{}, newKey(t)
	first := k.process(t, key, 0)
	first.soon, first.again = time.Millisecond, time.Hour
	require.NoError(t, first.Before(t.Context(), true), "it is alone")
	require.Empty(t, first.others, "its own question tells it of nobody")
	second := k.process(t, key, 0)
	first.id, second.id = records.BootID{1}, records.BootID{2}
	require.NoError(t, second.Before(t.Context(), true))
	require.ErrorIs(t, first.Run(t.Context()), ErrAnother)
}

// Questions of a keeper's own make an agent ask, and do not stop it.
func TestAKeeperThatAsksStopsNobody(t *testing.T) {
	k, key := &keeper{}, newKey(t)
	p := k.process(t, key, 0)
	p.soon, p.again = time.Millisecond, time.Hour
	require.NoError(t, p.Before(t.Context(), true))
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	k.lie = func(_ messages.BootsRequest, honest messages.BootsAnswer) (messages.BootsAnswer, error) {
		if asked++; asked == 3 {
			cancel()
			return honest, nil
		}
		_, err := p.Answer(ctx, solana.PublicKey{9}, messages.BootRequest{Nonce: [32]byte{7}})
		return honest, err
	}
	_, err := p.Answer(ctx, solana.PublicKey{9}, messages.BootRequest{Nonce: [32]byte{7}})
	require.NoError(t, err)
	require.ErrorIs(t, p.Run(ctx), context.Canceled)
	require.Equal(t, 3, asked)
}
