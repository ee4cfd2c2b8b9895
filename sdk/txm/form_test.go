package txm

import (
	"errors"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

// large is an effect that no legacy transaction holds: a first instruction that names it, and one with many bytes.
func large(effect string) []solana.Instruction {
	return append(do(effect), Instruction{Program: testProgram, Payload: make([]byte, 2_000)})
}

func (c *fakeChain) versions() map[solana.MessageVersion]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[solana.MessageVersion]int{}
	for _, l := range c.landed {
		out[l.tx.Message.GetVersion()]++
	}
	return out
}

// A caller that was refused may give the intent again before the manager has forgotten the refused submission.
func TestASubmissionThatIsOverIsNotJoined(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	in := Intent{ID: "again", Instructions: do("a")}
	fresh, err := newEntry(in, m.o.Payer, time.Now())
	require.NoError(t, err)
	refused := newSubmission(m, fresh, in)
	refused.finish(ErrTooLarge)
	m.mu.Lock()
	m.submissions[in.ID] = refused
	m.mu.Unlock()
	_, err = m.Submit(ctxFor(t), in)
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
}

// Version 1 is for what the legacy form does not hold, on a cluster that takes it.
func TestTheFormFollowsSizeAndCluster(t *testing.T) {
	r := newRig(t)
	m := r.manager()
	_, err := m.Submit(ctxFor(t), Intent{ID: "early", Instructions: large("a")})
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "this cluster does not take version 1 yet")
	_, err = m.DryRun(ctxFor(t), Intent{ID: "early", Instructions: large("a")})
	require.ErrorIs(t, err, ErrTooLarge)
	require.Equal(t, txform.Legacy, m.Largest(ctxFor(t)))
	require.Zero(t, r.chain.sims, "nothing was asked of the node for it")

	r.chain.mu.Lock()
	r.chain.one = true
	r.chain.mu.Unlock()
	require.Equal(t, txform.Legacy, m.Largest(ctxFor(t)), "the cluster is not asked for each transaction")
	m.one.mu.Lock()
	m.one.asked = time.Now().Add(-askAgain)
	m.one.mu.Unlock()
	require.Equal(t, txform.VersionOne, m.Largest(ctxFor(t)))

	res, err := m.Submit(ctxFor(t), Intent{ID: "early", Instructions: large("a")})
	require.NoError(t, err, "an intent that was refused for its size alone can be given again")
	require.Equal(t, map[solana.MessageVersion]int{solana.MessageVersionV1: 1}, r.chain.versions())
	landed, err := r.chain.Transaction(t.Context(), res.Signature, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, res.Signature, landed.Signature)
	_, err = m.Submit(ctxFor(t), Intent{ID: "small", Instructions: do("b")})
	require.NoError(t, err)
	require.Equal(t, map[solana.MessageVersion]int{solana.MessageVersionV1: 1, solana.MessageVersionLegacy: 1}, r.chain.versions())
	require.Equal(t, []int{1, 1}, []int{r.chain.effect("a"), r.chain.effect("b")})

	_, err = m.Submit(ctxFor(t), Intent{ID: "huge", Instructions: append(large("c"), large("d")...)})
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "the version 1 form holds 4096")
	_, err = m.Build(ctxFor(t), Intent{ID: "wallet", Instructions: large("e")})
	require.ErrorIs(t, err, ErrTooLarge, "wallets sign the legacy form")
}

// The price is what is offered in total, within the bounds of what a transaction may cost.
func TestVersionOneOffersTheSamePrice(t *testing.T) {
	r := newRig(t)
	r.chain.one = true
	m := r.manager(func(o *Options) { o.Fees = Fees{Floor: 1_000_000, Cap: 1_000_000, Most: 9_000} })
	res, err := m.Submit(ctxFor(t), Intent{ID: "one", Instructions: large("a")})
	require.NoError(t, err)
	entry, err := m.Get("one")
	require.NoError(t, err)
	tx, err := solana.TransactionFromBytes(entry.Current.Raw)
	require.NoError(t, err)
	require.EqualValues(t, 5_000, res.UnitLimit)
	require.EqualValues(t, 800_000, res.UnitPrice, "lowered until the whole costs 9,000 lamports")
	require.EqualValues(t, 4_000, *tx.Message.TransactionConfig.PriorityFee)
	require.EqualValues(t, 9_000, txform.Fee(&tx.Message))
}

// A node that does not say what the cluster takes delays what needs version 1, and nothing else.
func TestAnUnknownFormIsWaitedFor(t *testing.T) {
	r := newRig(t)
	r.chain.one, r.chain.oneErr = true, errors.New("the node is busy")
	m := r.manager()
	require.Equal(t, txform.Legacy, m.Largest(ctxFor(t)))
	_, err := m.Submit(ctxFor(t), Intent{ID: "small", Instructions: do("b")})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := m.Submit(ctxFor(t), Intent{ID: "large", Instructions: large("a")})
		done <- err
	}()
	require.Eventually(t, func() bool { return m.InFlight() == 1 }, time.Minute, time.Millisecond)
	r.chain.mu.Lock()
	r.chain.oneErr = nil
	r.chain.mu.Unlock()
	require.NoError(t, <-done)
	require.Equal(t, 1, r.chain.effect("a"))
}
