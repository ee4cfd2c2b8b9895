package audit

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// The award of a lease is found in its history, also after its account is closed, and also where the log was cut. A transaction that only
// names the address proves nothing.
func TestTheAwardOfAClosedLeaseIsFound(t *testing.T) {
	lease, node, order, credits, provider := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}, solana.PublicKey{4}, solana.PublicKey{5}
	for _, kind := range awards {
		accounts := make([]solana.PublicKey, kind.lease+1)
		for i := range accounts {
			accounts[i] = solana.PublicKey{99, byte(i)}
		}
		accounts[kind.lease], accounts[kind.node], accounts[kind.order], accounts[kind.credits], accounts[kind.provider] = lease, node, order, credits, provider
		told := land(t, Tx{Signature: solana.Signature{2}, Slot: 2, Time: time.Unix(2, 0), Instructions: []Instruction{call(kind.kind, nil, accounts...)}})
		named := land(t, Tx{Signature: solana.Signature{1}, Slot: 1, Time: time.Unix(1, 0), Instructions: []Instruction{{Program: solana.PublicKey{77}, Accounts: []solana.PublicKey{lease}}}})
		closed := land(t, Tx{Signature: solana.Signature{3}, Slot: 3, Time: time.Unix(3, 0), Instructions: []Instruction{call(bindings.Instruction_LeaseClose, nil, lease)}})

		got, err := FindAward(t.Context(), ledger{named, told, closed}, lease, chain.Confirmed)
		require.NoError(t, err)
		require.Equal(t, Bought{Order: order, Node: node, Provider: provider, Credits: credits}, got)
		cut := told
		cut.Logs = []string{"Log truncated"}
		_, err = FindAward(t.Context(), ledger{cut}, lease, chain.Confirmed)
		require.NoError(t, err)
		failed := told
		failed.Err = json.RawMessage(`{"InstructionError":[0,"Custom"]}`)
		for _, history := range []ledger{{failed}, {named, closed}, {}, {named, named, named, told}} {
			_, err = FindAward(t.Context(), history, lease, chain.Confirmed)
			require.ErrorIs(t, err, ErrNoHistory)
		}
		_, err = FindAward(t.Context(), ledger{told}, node, chain.Confirmed)
		require.ErrorIs(t, err, ErrNoHistory)
	}
}

// An audit names who owns the machine and who awarded the lease: by the award's transaction, also after everything is closed, else by the
// lease's account.
func TestAnAuditNamesProviderAndKeeper(t *testing.T) {
	s := newLeaseHistory(t)
	whole := s.told(t)
	l := s.auditLedger(t, whole)
	require.Equal(t, []solana.PublicKey{pub("provider"), pub("keeper's wallet")}, []solana.PublicKey{l.Owner, l.Keeper})

	cut := slices.Clone(whole)
	cuts["kept by nobody"](&cut[1])
	l = s.auditLedger(t, cut)
	require.Equal(t, []solana.PublicKey{pub("provider"), {}}, []solana.PublicKey{l.Owner, l.Keeper}, "the event alone names the keeper")

	account := func(o *Options) {
		o.Lease = &market.Lease{}
		o.Lease.Provider, o.Lease.Keeper, o.Lease.Order, o.Lease.Node = pub("its provider"), pub("its keeper"), s.order, s.node
	}
	l = s.auditLedger(t, cut, account)
	require.Equal(t, []solana.PublicKey{pub("provider"), pub("its keeper")}, []solana.PublicKey{l.Owner, l.Keeper})
	l = s.auditLedger(t, cut[2:], account) // the node has forgotten the award
	require.Equal(t, []solana.PublicKey{pub("its provider"), pub("its keeper")}, []solana.PublicKey{l.Owner, l.Keeper})
}
