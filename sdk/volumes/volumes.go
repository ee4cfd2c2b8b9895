// Package volumes keeps volumes of a customer beyond the leases that use them. What a volume has is in snapshots in a bucket, see
// package snapshot. Claims in the same folder say which order uses it, and which lease's snapshots count: so the bucket is what all
// computers of a customer agree by. Whether a claim still holds is on chain.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

var (
	// ErrInUse: a lease uses the volume.
	ErrInUse = errors.New("the volume is in use")
	// ErrNone: the bucket does not have the volume.
	ErrNone = errors.New("there is no such volume")
	// ErrSize: the volume cannot have that size.
	ErrSize = errors.New("the volume cannot have that size")
	// ErrLost: the bucket does not have the volume's newest snapshot any more, or its machine has named one that it never made.
	ErrLost = errors.New("the newest snapshot is not in the bucket")
	// ErrSuspended: the volume's newest snapshot is of a container that was suspended.
	ErrSuspended = errors.New("the newest snapshot is of a suspended container")
)

const (
	// placeTime is how long after its claim an order may not be seen on chain: it is sent at once.
	placeTime = 3 * time.Minute
	// LastSnapshotTime is how long after the end of a lease its last snapshot is waited for: the agent notices the end, stops the
	// job, and gives the snapshot two minutes.
	LastSnapshotTime = 4 * time.Minute
	// giveBackTime is how long the bucket may take to remove a claim that came to nothing. Without that the claim ends soon by itself.
	giveBackTime = 5 * time.Second
	// look is how often it is looked whether the last snapshot is there.
	look = time.Second
	// erasing is what the claim of somebody begins with who deletes a volume.
	erasing = "delete-"
	// folder has the volumes, in the customer's folder of the bucket.
	folder = "volumes"
)

// Standing is what the chain says of an order.
type Standing struct {
	// Live says in words what may use the volume, such as "lease …, which is running"; empty for nothing. Lease is its address.
	Live, Lease string
	// Ended is how long ago the last lease of the order ended; negative where the chain does not say.
	Ended time.Duration
}

// Options of a Store.
type Options struct {
	// Folder of the bucket, and the cluster and the wallet whose volumes these are.
	Folder, Cluster, Wallet string
	// Open adds credentials, and the key of a folder of the bucket.
	Open func(folder string) (messages.Backup, error)
	// Standing asks the chain about the order of a claim.
	Standing func(ctx context.Context, order string) (Standing, error)
	// Price of the bucket; the zero value for one that nobody has said.
	Price Price
	// Waiting is told that the last snapshot of a lease is waited for, until stop is called. Nil for nothing.
	Waiting func(lease string) (stop func())
	// Transport reaches the bucket; nil for that of package http.
	Transport http.RoundTripper
}

// Store has the volumes that a customer keeps in a bucket. It is safe for concurrent use.
type Store struct{ o Options }

// New is a Store. It asks nobody.
func New(o Options) *Store { return &Store{o} }

// Folder is where the bucket has a volume.
func (s *Store) Folder(name string) string {
	return path.Join(s.o.Folder, folder, s.o.Cluster, s.o.Wallet, name)
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

func (s *Store) open(name string) (*snapshot.Bucket, error) {
	if name != "" && !nameForm.MatchString(name) {
		return nil, fmt.Errorf("%w: %q is not the name of a volume", ErrNone, name)
	}
	to, err := s.o.Open(s.Folder(name))
	if err != nil {
		return nil, err
	}
	return snapshot.Open(to, s.o.Transport)
}

// state is what the bucket says of a volume.
type state struct {
	bucket *snapshot.Bucket
	claims []snapshot.Claim // the highest turn first
	marks  []snapshot.Mark
	now    time.Time // by the bucket's clock; zero until somebody needs it
}

func read(ctx context.Context, b *snapshot.Bucket) (*state, error) {
	s := &state{bucket: b}
	var err error
	if s.claims, err = b.Claims(ctx); err != nil {
		return nil, err
	}
	s.marks, err = b.Marks(ctx)
	return s, err
}

// latest is the claim that says where the volume stands; nil for none.
func (s *state) latest() *snapshot.Claim {
	for i := range s.claims {
		if s.claims[i].Ready {
			return &s.claims[i]
		}
	}
	return nil
}

// has reports whether an order's claim is the one that says where the volume stands.
func (s *state) has(order string) bool {
	c := s.latest()
	return c != nil && c.Order == order
}

// turn is above those of all other orders' claims.
func (s *state) turn(order string) uint64 {
	var most uint64
	for _, c := range s.claims {
		if c.Order != order {
			most = max(most, c.Turn)
		}
	}
	return most + 1
}

// written is the last mark of a lease; nil for none.
func (s *state) written(lease string) *snapshot.Mark {
	i := slices.IndexFunc(s.marks, func(m snapshot.Mark) bool { return m.Lease == lease })
	if lease == "" || i < 0 {
		return nil
	}
	return &s.marks[i]
}

// head is the snapshot with which the next lease begins; zero for an empty volume. A machine that was lost, and writes on after its lease
// has moved or has ended, changes nothing of it.
func (s *state) head(ctx context.Context) (snapshot.Hash, error) {
	c := s.latest()
	if c == nil { // its claims were removed, or another version of gantry has made it
		all, err := s.bucket.Snapshots(ctx)
		if err != nil {
			return snapshot.Hash{}, err
		}
		return all.Newest(), nil
	}
	if m := s.written(c.Lease); m != nil {
		return m.Snapshot, nil
	}
	return c.From, nil
}

// VolumeUse is what keeps a volume from others.
type VolumeUse struct {
	Order string `json:"order,omitempty"`
	Lease string `json:"lease,omitempty"`
	// Says is the same in words.
	Says string `json:"says"`
	// ending: its lease is over, and the last snapshot may come.
	ending bool
}

// InUse is the error of a volume that is in use.
type InUse struct {
	Name string
	By   VolumeUse
}

func (e *InUse) Error() string { return fmt.Sprintf("volume %s is in use by %s", e.Name, e.By.Says) }

// Is ErrInUse.
func (e *InUse) Is(target error) bool { return target == ErrInUse }

// use is what keeps the volume from others than some orders; nil for nothing.
func (s *Store) use(ctx context.Context, st *state, but ...string) (*VolumeUse, error) {
	var ending *VolumeUse
	for _, c := range st.claims {
		if slices.Contains(but, c.Order) {
			continue
		}
		u, err := s.held(ctx, st, c)
		switch {
		case err != nil:
			return nil, err
		case u != nil && u.ending:
			ending = u
		case u != nil:
			return u, nil
		}
	}
	return ending, nil
}

// held is what a claim stands for; nil for a claim that holds no more.
func (s *Store) held(ctx context.Context, st *state, c snapshot.Claim) (*VolumeUse, error) {
	young := func() (bool, error) {
		if st.now.IsZero() {
			var err error
			if st.now, err = st.bucket.Now(ctx); err != nil {
				return false, err
			}
		}
		return st.now.Sub(c.At) < placeTime, nil
	}
	if c.Over {
		return nil, nil
	}
	if strings.HasPrefix(c.Order, erasing) {
		if is, err := young(); err != nil || !is {
			return nil, err
		}
		return &VolumeUse{Says: "a command that deletes it"}, nil
	}
	is, err := s.o.Standing(ctx, c.Order)
	if err != nil {
		return nil, err
	}
	switch {
	case is.Live != "":
		return &VolumeUse{Order: c.Order, Lease: is.Lease, Says: is.Live}, nil
	case c.Lease == "": // its order may come
		if is, err := young(); err != nil || !is {
			return nil, err
		}
		return &VolumeUse{Order: c.Order, Says: fmt.Sprintf("order %s, which is being placed; it holds the volume for %d minutes at most if it never comes", c.Order, placeTime/time.Minute)}, nil
	}
	if is.Ended < 0 || is.Ended > LastSnapshotTime {
		return nil, nil
	}
	if complete, err := st.complete(ctx, c.Lease); err != nil || complete {
		return nil, err
	}
	return &VolumeUse{Order: c.Order, Lease: c.Lease, Says: fmt.Sprintf("lease %s, which has ended and makes its last snapshot", c.Lease), ending: true}, nil
}

// complete reports whether a lease makes no more snapshots.
func (s *state) complete(ctx context.Context, lease string) (bool, error) {
	m := s.written(lease)
	if m == nil || m.Over {
		return m != nil, nil
	}
	saved, err := s.bucket.Find(ctx, m.Snapshot)
	if snapshot.Missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return saved.Container() != nil, nil // a container that was suspended runs no more
}
