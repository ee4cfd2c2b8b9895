package audit

import (
	"context"
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

// unread is a history of one transaction that nobody can read.
type unread struct{}

func (unread) History(context.Context, solana.PublicKey, chain.Commitment, int) ([]chain.SignatureInfo, error) {
	at := int64(1_800_000_000)
	return []chain.SignatureInfo{{Signature: solana.Signature{0xee, 0xee}, Slot: 7, BlockTime: &at}}, nil
}

func (unread) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	return chain.Landed{}, fmt.Errorf("transaction %s: %w", sig, chain.ErrUnreadable)
}

// A transaction that cannot be read neither disappears nor hides the others: the audit says that it does not know.
func TestATransactionThatCannotBeReadIsNotKnown(t *testing.T) {
	txs, err := Read(t.Context(), unread{}, pub("lease"), chain.Confirmed)
	require.NoError(t, err)
	require.Len(t, txs, 1)
	require.Equal(t, uint64(7), txs[0].Slot)
	require.Equal(t, int64(1_800_000_000), txs[0].Time.Unix())

	_, err = AuditLease(t.Context(), Options{Source: unread{}}, pub("lease"))
	require.ErrorIs(t, err, chain.ErrUnreadable)
	require.NotErrorIs(t, err, ErrNoHistory, "what it was is not known")
	require.ErrorContains(t, err, "1 of the transactions")
	_, err = AuditSlash(t.Context(), Options{Source: unread{}}, pub("fault"))
	require.ErrorIs(t, err, chain.ErrUnreadable)
	require.NotErrorIs(t, err, ErrNoHistory)
	_, err = AuditAuction(t.Context(), Options{Source: unread{}}, pub("order"))
	require.ErrorIs(t, err, chain.ErrUnreadable)
	require.NotErrorIs(t, err, ErrNoHistory)

	s := newLeaseHistory(t)
	readable := s.txs(t)
	l := rebuild(Options{Domain: s.receipt.Domain, NodeKey: s.nodeKey.PublicKey()}, s.lease, s.awarded, 1, merge(readable, txs), s.roots)
	require.False(t, l.OK())
	var found []Step
	for _, step := range l.Steps {
		if step.Signature == (solana.Signature{0xee, 0xee}) {
			found = append(found, step)
		}
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0].Unknown, chain.ErrUnreadable.Error())
	require.Empty(t, problemsOf(l))
	require.Equal(t, Unknown, l.Outcome())
	require.Greater(t, len(l.Steps), len(readable)/2, "the others are audited all the same")
}
