package cli

import (
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// grantOrder is how far apart two commands may read the chain's time in the wrong order.
const grantOrder = time.Minute

// grantTime is the chain's time for a grant, or for taking grants back: machines compare both with the chain's time,
// and this computer's date may be off. What this computer granted or took back last counts as before: a grant is later,
// and what takes it back is no earlier.
func (s *session) grantTime(l market.Lease, grants bool) (time.Time, error) {
	now, err := s.service.Clock.Fresh(s.ctx)
	if err != nil {
		return now, err
	}
	f, err := s.grantsOf(l.Customer)
	if err != nil {
		return now, err
	}
	last, err := f.LastGrant(l.Order)
	if err != nil {
		return now, err
	}
	if grants {
		last++
	}
	return inOrder(now, time.UnixMilli(last)), nil
}

// inOrder is a time that is no earlier than another one, unless that was taken from a clock that was wrong.
func inOrder(now, last time.Time) time.Time {
	if last.After(now) && last.Sub(now) <= grantOrder {
		return last
	}
	return now
}

// grantTimes are when a grant is signed and when it ends by --for, unix milliseconds.
func (s *session) grantTimes(l market.Lease) (issued, expiry int64, err error) {
	now, err := s.grantTime(l, true)
	if err != nil {
		return 0, 0, err
	}
	if d := s.cli.Duration(flagFor); d > 0 {
		return now.UnixMilli(), now.Add(d).UnixMilli(), nil
	}
	return now.UnixMilli(), forever, nil
}

// until is when a grant ends, unix seconds; 0 for with its lease.
func until(g records.Grant) int64 {
	if g.Expiry == forever {
		return 0
	}
	return g.Expiry / 1000
}

// grantsOf is the folder that keeps what a customer has granted and taken back, whichever key signs for it.
func (s *session) grantsOf(customer solana.PublicKey) (*purchase.Folder, error) {
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return nil, err
	}
	root, err := s.stateRoot()
	if err != nil {
		return nil, err
	}
	return purchase.Open(root, genesis, customer)
}

// publish keeps the names that a gateway has given to a lease, for the server's page.
func (s *session) publish(l market.Lease, n purchase.Names) error {
	f, err := s.grantsOf(l.Customer)
	if err != nil {
		return err
	}
	return f.Publish(l.Order, n)
}
