package toll

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"
)

// UnpaidError says, for people, that nothing more is relayed until somebody pays.
type UnpaidError struct{ Why string }

func (e *UnpaidError) Error() string { return e.Why }

var errClosed = errors.New("the book of payments is closed")

// Account is that of one lease. nil relays for free. It is safe for concurrent use.
type Account struct {
	b               *Book
	lease, customer solana.PublicKey

	mu     sync.Mutex
	taken  [2]uint64 // and not relayed yet: of the balance, of the allowance
	closed bool
}

// Account of a lease; the same one each time. nil for a nil book.
func (b *Book) Account(of, customer solana.PublicKey) *Account {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.accounts[of]
	if a == nil {
		a = &Account{b: b, lease: of, customer: customer}
		b.accounts[of] = a
	}
	return a
}

// Take says how many of n bytes, at most a Chunk, may be relayed now; they count as relayed. Fewer than n come with an
// error: *UnpaidError, or one of the file.
func (a *Account) Take(n int) (int, error) {
	if a == nil {
		return n, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, errClosed
	}
	for a.taken[0]+a.taken[1] < uint64(n) {
		got, fromFree, err := a.b.charge(a.lease, a.customer, Chunk-a.taken[0]-a.taken[1])
		if err != nil {
			return 0, err
		}
		if got == 0 {
			rest := int(a.taken[0] + a.taken[1])
			a.taken = [2]uint64{}
			return rest, a.unpaid()
		}
		a.taken[from(fromFree)] += got
	}
	free := min(uint64(n), a.taken[1])
	a.taken[1] -= free
	a.taken[0] -= uint64(n) - free
	return n, nil
}

func from(free bool) int {
	if free {
		return 1
	}
	return 0
}

// Check says whether anything more may be relayed. Errors: *UnpaidError, those of the file.
func (a *Account) Check() error {
	if a == nil {
		return nil
	}
	free, paid, err := a.Left()
	if err == nil && free == 0 && paid == 0 {
		err = a.unpaid()
	}
	return err
}

// Left is what the lease has left of its allowance, and its customer of what was paid, bytes, with what was taken from
// them and not relayed yet.
func (a *Account) Left() (free, paid uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	free, paid, err = a.b.Left(a.lease, a.customer)
	return add(free, a.taken[1]), add(paid, a.taken[0]), err
}

func (a *Account) unpaid() error {
	o := &a.b.o
	return &UnpaidError{fmt.Sprintf("what this gateway relays for nothing is used up, and so is what was paid: it asks %s USDC a GiB; wallet %s may pay for one with: gantry gateway pay %s --via %s --amount %s",
		o.Price, a.customer, a.lease, o.Gateway, o.Price)}
}

// giveBack ends the account.
func (a *Account) giveBack() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	if a.taken == [2]uint64{} {
		return nil
	}
	return a.b.db.Update(func(tx *bolt.Tx) error {
		return errors.Join(a.b.use(tx, a.lease, a.customer, a.taken[0], false, true), a.b.use(tx, a.lease, a.customer, a.taken[1], true, true))
	})
}
