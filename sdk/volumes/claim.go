package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// Found is a volume as an order finds it.
type Found struct {
	messages.Volume

	// From is the snapshot with which the order begins; zero for an empty volume.
	From snapshot.Hash
	// New reports that the bucket does not hold the volume yet.
	New bool
	// Lost is a lease whose last snapshot is missing: From is the snapshot before it. Empty for none.
	Lost string
}

// Find says how large a volume is and where containers have it, where the request does not. Unless the caller's order may have begun, it
// also looks whether another order uses the volume, and waits for the last snapshot of a lease that has just ended. It claims nothing. A
// snapshot that is given is what the order is to begin with. Errors: ErrInUse, ErrLost, ErrSize, ErrSuspended, snapshot.ErrBucket, snapshot.ErrDamaged for a volume of another key.
func (s *Store) Find(ctx context.Context, asked messages.Volume, given snapshot.Hash, begun bool) (Found, error) {
	b, err := s.open(asked.Name)
	if err != nil {
		return Found{}, err
	}
	var st *state
	if begun {
		st, err = read(ctx, b)
	} else {
		st, err = s.free(ctx, b, asked.Name)
	}
	if err != nil {
		return Found{}, err
	}
	out, err := st.found(ctx, asked, given)
	if err != nil {
		return out, err
	}
	had := st.latest()
	out.New = had == nil && out.From == (snapshot.Hash{})
	if had != nil {
		if out.MiB == 0 {
			out.MiB = had.MiB
		}
		if out.Path == "" {
			out.Path = had.Path
		}
	}
	if out.Path == "" {
		out.Path = "/" + out.Name
	}
	if out.MiB == 0 {
		return out, fmt.Errorf("%w: volume %s is new, and nothing says how large it is", ErrSize, out.Name)
	}
	return out, fits(ctx, b, out, given)
}

// found is the volume with the snapshot with which its next order begins.
func (s *state) found(ctx context.Context, v messages.Volume, given snapshot.Hash) (Found, error) {
	out := Found{Volume: v, From: given}
	if given != (snapshot.Hash{}) {
		return out, nil
	}
	var err error
	if out.From, err = s.head(ctx); err != nil {
		return out, err
	}
	before := s.latest()
	if before == nil || before.Lease == "" {
		return out, nil
	}
	complete, err := s.complete(ctx, before.Lease)
	if err == nil && !complete {
		out.Lost = before.Lease
	}
	return out, err
}

// Claim takes a volume for an order, until the order and its leases are over on chain. It waits for the last snapshot of a lease that has
// just ended. Repeated for the same order it holds the claim. A snapshot that is given is what the order begins with. Errors: ErrInUse,
// ErrLost, ErrSize, ErrSuspended, snapshot.ErrBucket, snapshot.ErrDamaged.
func (s *Store) Claim(ctx context.Context, order string, v messages.Volume, given snapshot.Hash) (Found, error) {
	b, err := s.open(v.Name)
	if err != nil {
		return Found{}, err
	}
	st, err := read(ctx, b)
	if err != nil {
		return Found{}, err
	}
	mine := snapshot.Claim{Order: order, Turn: st.turn(order), MiB: v.MiB, Path: v.Path}
	if c := st.latest(); c != nil && c.Order == order { // else another order has had the volume meanwhile
		mine = *c
		mine.Over = false
	}
	out, err := s.take(ctx, b, v, mine, given)
	if err != nil && !mine.Ready {
		err = errors.Join(err, giveBack(ctx, b, order))
	}
	return out, err
}

// take writes a claim and completes it, unless another one holds.
func (s *Store) take(ctx context.Context, b *snapshot.Bucket, v messages.Volume, mine snapshot.Claim, given snapshot.Hash) (Found, error) {
	var st *state
	for fresh := false; !fresh; { // others take an old claim for one whose order never comes
		began := wall()
		if err := b.PutClaim(ctx, mine); err != nil {
			return Found{}, err
		}
		var err error
		if st, err = s.free(ctx, b, v.Name, mine.Order); err != nil {
			return Found{}, err
		}
		fresh = wall().Sub(began) < placeTime/3
	}
	if mine.Ready && st.has(mine.Order) { // the latest one of all: nobody had the volume meanwhile
		return Found{Volume: v, From: mine.From}, st.forget(ctx, mine.Order)
	}
	out, err := st.found(ctx, v, given)
	if err != nil {
		return out, err
	}
	if err := fits(ctx, b, out, given); err != nil {
		return out, err
	}
	mine = snapshot.Claim{Order: mine.Order, Turn: max(mine.Turn, st.turn(mine.Order)), From: out.From, Ready: true, MiB: v.MiB, Path: v.Path}
	if err := b.PutClaim(ctx, mine); err != nil {
		return out, err
	}
	if st, err = s.alone(ctx, b, v.Name, mine.Order); err != nil {
		return out, errors.Join(err, giveBack(ctx, b, mine.Order))
	}
	return out, st.forget(ctx, mine.Order)
}

// giveBack removes a claim that came to nothing, also when ctx has ended.
func giveBack(ctx context.Context, b *snapshot.Bucket, order string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	return b.RemoveClaim(ctx, order)
}

// alone looks whether nobody has taken the volume before an order's claim was ready, as when the computer has slept meanwhile. Whoever is
// not ready looks later, and sees this claim. Error: ErrInUse.
func (s *Store) alone(ctx context.Context, b *snapshot.Bucket, name, order string) (*state, error) {
	st, err := read(ctx, b)
	if err != nil {
		return nil, err
	}
	decided := *st
	decided.claims = slices.DeleteFunc(slices.Clone(st.claims), func(c snapshot.Claim) bool { return !c.Ready && !strings.HasPrefix(c.Order, erasing) })
	u, err := s.use(ctx, &decided, order)
	switch {
	case err != nil:
		return nil, err
	case u != nil:
		return nil, &InUse{name, *u}
	case !st.has(order):
		return nil, takenOver(name)
	}
	st.claims = decided.claims // the others are left to those who look later
	return st, nil
}

// takenOver is the error of an order whose claim another has removed.
func takenOver(name string) error {
	return &InUse{name, VolumeUse{Says: "another order, which has taken it over"}}
}

// wall is the time by the clock on the wall, which goes on while the computer sleeps.
func wall() time.Time { return time.Now().Round(0) }

// free waits until no other order has the volume. Error: ErrInUse unless only a last snapshot is waited for.
func (s *Store) free(ctx context.Context, b *snapshot.Bucket, name string, but ...string) (*state, error) {
	stop := func() {}
	defer func() { stop() }()
	for waiting := false; ; {
		st, err := read(ctx, b)
		if err != nil {
			return nil, err
		}
		u, err := s.use(ctx, st, but...)
		switch {
		case err != nil:
			return nil, err
		case u == nil:
			return st, nil
		case !u.ending:
			return nil, &InUse{name, *u}
		case !waiting && s.o.Waiting != nil:
			waiting, stop = true, s.o.Waiting(u.Lease)
		}
		if err := wait.For(ctx, look); err != nil {
			return nil, err
		}
	}
}

// fits reports whether a volume takes the files of its snapshot. Errors: ErrLost, ErrSize, ErrSuspended.
func fits(ctx context.Context, b *snapshot.Bucket, f Found, given snapshot.Hash) error {
	if f.From == (snapshot.Hash{}) {
		return nil
	}
	saved, err := b.Find(ctx, f.From)
	if snapshot.Missing(err) && given == (snapshot.Hash{}) {
		return fmt.Errorf("%w: %s", ErrLost, f.From)
	}
	if err != nil {
		return err
	}
	if saved.Container() != nil && given == (snapshot.Hash{}) {
		return fmt.Errorf("%w: %s", ErrSuspended, f.From)
	}
	if bytes, _ := saved.Size(); bytes > int64(f.MiB)<<20 {
		return fmt.Errorf("%w: the files of volume %s have %d MiB, and %d MiB are asked for", ErrSize, f.Name, (bytes+1<<20-1)>>20, f.MiB)
	}
	return nil
}

// forget removes the claims of other orders, and what their leases say: from now on the claim of one order says where the volume stands.
func (s *state) forget(ctx context.Context, but string) error {
	var old []snapshot.Mark
	for _, c := range s.claims {
		if c.Order == but {
			continue
		}
		for _, m := range s.marks {
			if m.Lease == c.Lease && c.Lease != "" {
				old = append(old, m)
			}
		}
		if err := s.bucket.RemoveClaim(ctx, c.Order); err != nil {
			return err
		}
	}
	return s.bucket.RemoveMarks(ctx, old)
}

// Assign says that a lease of the order has the volume from now on, and with which snapshot it begins where the chain names one. Only
// what it writes counts. Error: ErrInUse where another order has taken the volume.
func (s *Store) Assign(ctx context.Context, name, order, lease string, from snapshot.Hash) error {
	b, err := s.open(name)
	if err != nil {
		return err
	}
	st, err := read(ctx, b)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(st.claims, func(c snapshot.Claim) bool { return c.Order == order })
	if latest := st.latest(); i < 0 || latest != nil && latest.Turn > st.claims[i].Turn {
		return takenOver(name)
	}
	c := st.claims[i]
	if c.Lease == lease && !c.Over {
		return nil
	}
	if c.Lease = lease; from != (snapshot.Hash{}) {
		c.From = from
	}
	c.Ready, c.Over = true, false
	return b.PutClaim(ctx, c)
}

// Release gives up the claim of an order that came to nothing.
func (s *Store) Release(ctx context.Context, name, order string) error {
	b, err := s.open(name)
	if err != nil {
		return err
	}
	all, err := b.Claims(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c snapshot.Claim) bool { return c.Order == order })
	switch {
	case i < 0:
		return nil
	case !all[i].Ready:
		return b.RemoveClaim(ctx, order)
	}
	c := all[i] // the claims before are gone: this one says where the volume stands
	c.Over = true
	return b.PutClaim(ctx, c)
}
