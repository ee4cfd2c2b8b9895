package lease

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// ErrOlderStore: the store is a copy of a moment before something that the chain shows was stored.
var ErrOlderStore = errors.New("the agent's store is an old copy: the chain shows what this node did after it was made")

// CheckStore compares the store with the node's leases on chain before anything is signed. A start and a receipt are
// stored before they are signed, so that a lease on chain is never ahead of the store that belongs to it. A store without
// leases is taken for a new one: what is lost with an earlier one are receipts that were not settled, whose seconds reports
// pay, and bids that were not revealed.
//
// Error: [ErrOlderStore].
func CheckStore(s *store.Store, onChain []market.Lease) error {
	entries, err := s.Leases()
	if err != nil {
		return fmt.Errorf("read stored leases: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	known := make(map[store.Key]store.Lease, len(entries))
	for _, e := range entries {
		known[e.Address] = e
	}
	for _, l := range onChain {
		entry, ok := known[store.Key(l.Address)]
		switch {
		case !ok && l.State() == market.LeaseRunning: // an endpoint that lags may still show one that has been closed
			return fmt.Errorf("%w (lease %s has started)", ErrOlderStore, l.Address)
		case !ok || entry.Found:
			continue
		}
		last, err := s.Receipt(entry.Address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if last.Sequence < l.ReceiptSequence {
			return fmt.Errorf("%w (receipt %d of lease %s was settled, the store has %d)", ErrOlderStore, l.ReceiptSequence, l.Address, last.Sequence)
		}
	}
	return nil
}
