package lease

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// onChain is a lease as the chain shows it.
func onChain(address byte, status uint8, startedAt int64, sequence uint64) market.Lease {
	var l market.Lease
	l.Address = solana.PublicKey{address}
	l.Order, l.Customer, l.Node = solana.PublicKey{9}, solana.PublicKey{8}, solana.PublicKey{7}
	l.Status, l.StartedAt, l.ReceiptSequence = status, startedAt, sequence
	return l
}

func TestCheckStore(t *testing.T) {
	const awarded, running, ended = uint8(market.LeaseAwarded), uint8(market.LeaseRunning), uint8(market.LeaseEnded)
	for name, test := range map[string]struct {
		stored []market.Lease // stored by this file, with their receipts
		found  []market.Lease // added by this file after they had started
		chain  []market.Lease
		old    string // what the error names; empty for none
	}{
		"a new file among running leases":               {chain: []market.Lease{onChain(1, running, 10, 3)}},
		"the same as the chain":                         {stored: []market.Lease{onChain(1, running, 10, 3)}, chain: []market.Lease{onChain(1, running, 10, 3)}},
		"ahead of the chain":                            {stored: []market.Lease{onChain(1, running, 10, 5)}, chain: []market.Lease{onChain(1, running, 10, 3)}},
		"a lease that is awarded meanwhile":             {stored: []market.Lease{onChain(1, running, 10, 3)}, chain: []market.Lease{onChain(2, awarded, 0, 0)}},
		"a lease that has ended and was forgotten":      {stored: []market.Lease{onChain(1, running, 10, 3)}, chain: []market.Lease{onChain(2, ended, 10, 4)}},
		"a lease that has started since":                {stored: []market.Lease{onChain(1, running, 10, 3)}, chain: []market.Lease{onChain(2, running, 10, 0)}, old: "has started"},
		"a receipt that was settled since":              {stored: []market.Lease{onChain(1, running, 10, 3)}, chain: []market.Lease{onChain(1, running, 10, 4)}, old: "receipt 4"},
		"the first receipt was settled since":           {stored: []market.Lease{onChain(1, running, 10, 0)}, chain: []market.Lease{onChain(1, ended, 10, 1)}, old: "the store has 0"},
		"a receipt of before a file that was lost":      {found: []market.Lease{onChain(1, running, 10, 0)}, chain: []market.Lease{onChain(1, running, 10, 4)}},
		"found, and an old copy by another lease's sum": {found: []market.Lease{onChain(1, running, 10, 0)}, stored: []market.Lease{onChain(2, running, 10, 2)}, chain: []market.Lease{onChain(1, running, 10, 4), onChain(2, running, 10, 3)}, old: "receipt 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(filepath.Join(t.TempDir(), "agent.db"), store.Options{Owner: store.Owner{Domain: [8]byte{1}, NodeKey: store.Key{2}}})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			for _, l := range test.found {
				_, err := s.AddLease(newEntry(l))
				require.NoError(t, err)
			}
			for _, l := range test.stored {
				sequence := l.ReceiptSequence
				l.StartedAt, l.ReceiptSequence = 0, 0 // as it was when the agent first saw it
				_, err := s.AddLease(newEntry(l))
				require.NoError(t, err)
				if sequence > 0 {
					_, err = s.ReserveReceipt(store.Key(l.Address), sequence, 60)
					require.NoError(t, err)
				}
			}
			err = CheckStore(s, test.chain)
			if test.old == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrOlderStore)
			require.ErrorContains(t, err, test.old)
		})
	}
}
