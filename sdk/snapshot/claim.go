package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// folderClaims has the claims of a folder that is kept for several leases, one after the other.
const folderClaims = "claims"

// maxClaim is how large a claim may be, bytes.
const maxClaim = 4096

// Claim says which order uses a folder that is kept. It is encrypted with the folder's key. Each client writes a claim of its own and
// looks at the others afterwards. Of two that claim at once, at least one sees the other, as servers list what was written before.
type Claim struct {
	Order string `json:"order"`
	// Turn is above that of all claims before. The times at which claims were written do not say which came later: one is written again.
	Turn uint64 `json:"turn,omitempty"`
	// Lease is the last one to which the order's job was brought: only its snapshots count. Empty for none yet.
	Lease string `json:"lease,omitempty"`
	// From is the snapshot with which that lease began; zero for an empty folder. Ready says that it is decided.
	From  Hash `json:"from"`
	Ready bool `json:"ready,omitempty"`
	// Over: the order came to nothing. What the claim says of the folder still counts.
	Over bool `json:"over,omitempty"`
	// MiB and Path are those of the volume.
	MiB  uint64 `json:"mib,omitempty"`
	Path string `json:"path,omitempty"`
	// At is when it was written, by the bucket's clock.
	At time.Time `json:"-"`
}

// MarshalText writes a hash as in names of objects.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	var ok bool
	if *h, ok = parseHash(string(text)); !ok {
		return fmt.Errorf("%w: %q is not the hash of a snapshot", ErrDamaged, text)
	}
	return nil
}

// For has what this Bucket writes say for which lease that is.
func (b *Bucket) For(lease string) { b.lease = lease }

// Now is the time of the bucket's clock. It writes a small object for it.
func (b *Bucket) Now(ctx context.Context) (time.Time, error) { return b.now(ctx) }

// PutClaim writes the claim of an order in place of the one that it has.
func (b *Bucket) PutClaim(ctx context.Context, c Claim) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode a claim: %w", err)
	}
	name := path.Join(folderClaims, c.Order)
	sealed, err := b.seal(raw, name)
	if err != nil {
		return err
	}
	return b.put(ctx, name, sealed)
}

// Claims are those of all orders, the highest turn first. Errors: ErrBucket; ErrDamaged also where they are of another key.
func (b *Bucket) Claims(ctx context.Context) ([]Claim, error) {
	all, err := b.list(ctx, folderClaims)
	if err != nil {
		return nil, err
	}
	out := make([]Claim, 0, len(all))
	for _, o := range all {
		name := path.Join(folderClaims, path.Base(o.Key))
		sealed, err := b.get(ctx, name, maxClaim)
		if Missing(err) { // the claim was removed in the meantime: its order has failed
			continue
		}
		if err != nil {
			return nil, err
		}
		raw, err := b.open(sealed, name)
		if err != nil {
			return nil, err
		}
		c := Claim{At: o.LastModified}
		if err := json.Unmarshal(raw, &c); err != nil || c.Order != path.Base(o.Key) {
			return nil, fmt.Errorf("%w: %s", ErrDamaged, name)
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(x, y Claim) int { return cmp.Or(cmp.Compare(y.Turn, x.Turn), y.At.Compare(x.At)) })
	return out, nil
}

// RemoveClaim removes the claim of an order. One that is not there is no error.
func (b *Bucket) RemoveClaim(ctx context.Context, order string) error {
	err := b.client.RemoveObject(ctx, b.bucket, path.Join(b.prefix, folderClaims, order), minio.RemoveObjectOptions{})
	if err != nil && !Missing(err) {
		return fmt.Errorf("%w: remove a claim of %s: %w", ErrBucket, b.bucket, err)
	}
	return nil
}

// Mark is what a writer of a lease says of itself.
type Mark struct {
	Lease string
	// Snapshot is the last that it has made, or the one with which it began.
	Snapshot Hash
	// Over: it makes no more.
	Over bool
	At   time.Time

	object minio.ObjectInfo
}

// Marks are those of writers that say for which lease they write, the latest first.
func (b *Bucket) Marks(ctx context.Context) ([]Mark, error) {
	all, err := b.list(ctx, folderWriters)
	if err != nil {
		return nil, err
	}
	var out []Mark
	for _, o := range all {
		m, h, err := b.readMark(ctx, o)
		if Missing(err) { // the mark was removed in the meantime: snapshots of its lease do not count any more
			continue
		}
		if err != nil {
			return nil, err
		}
		if m.Lease != "" {
			out = append(out, Mark{m.Lease, h, m.Over, o.LastModified, o})
		}
	}
	slices.SortStableFunc(out, func(x, y Mark) int { return y.At.Compare(x.At) })
	return out, nil
}

// RemoveMarks removes marks, for leases whose snapshots count no more.
func (b *Bucket) RemoveMarks(ctx context.Context, marks []Mark) error {
	objects := make([]minio.ObjectInfo, len(marks))
	for i, m := range marks {
		objects[i] = m.object
	}
	return b.remove(ctx, objects)
}

// Stored is what the bucket has of a folder.
type Stored struct {
	// Bytes of all objects, as they are stored.
	Bytes int64
	// Snapshots are when each was made, by the bucket's clock.
	Snapshots map[Hash]time.Time
}

// Newest is the snapshot that was made last; zero for none.
func (s *Stored) Newest() (newest Hash) {
	for h, at := range s.Snapshots {
		if newest == (Hash{}) || at.After(s.Snapshots[newest]) || (at.Equal(s.Snapshots[newest]) && h.String() > newest.String()) {
			newest = h
		}
	}
	return newest
}

// Snapshots lists what there is, without the size of what they have.
func (b *Bucket) Snapshots(ctx context.Context) (*Stored, error) {
	return b.stored(ctx, "manifests", false)
}

// Stored lists all of the folder.
func (b *Bucket) Stored(ctx context.Context) (*Stored, error) { return b.stored(ctx, "", true) }

func (b *Bucket) stored(ctx context.Context, folder string, deep bool) (*Stored, error) {
	out := &Stored{Snapshots: map[Hash]time.Time{}}
	err := b.each(ctx, folder, deep, func(o minio.ObjectInfo) {
		out.Bytes += o.Size
		if h, ok := parseHash(path.Base(o.Key)); ok && path.Base(path.Dir(o.Key)) == "manifests" {
			out.Snapshots[h] = o.LastModified
		}
	})
	return out, err
}

// Folders are the names of those in this one.
func (b *Bucket) Folders(ctx context.Context) (names []string, err error) {
	all, err := b.list(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if strings.HasSuffix(o.Key, "/") {
			names = append(names, path.Base(o.Key))
		}
	}
	return names, nil
}

// erasedAtOnce is how many objects are listed or removed before Erase asks whether it may go on.
const erasedAtOnce = 1000

// Erase removes what the folder has, but the claim of one order, which is removed last. It may be cut off and repeated: snapshots go
// before the chunks that they name. still is called again and again: an error of it ends Erase.
func (b *Bucket) Erase(ctx context.Context, claim string, still func(context.Context) error) error {
	last := path.Join(b.prefix, folderClaims, claim)
	for _, folder := range []string{folderClaims, folderWriters, "manifests", ""} {
		var objects []minio.ObjectInfo
		var over error
		err := b.each(ctx, folder, true, func(o minio.ObjectInfo) {
			if o.Key != last {
				objects = append(objects, o)
			}
			if over == nil && len(objects)%erasedAtOnce == 0 {
				over = still(ctx)
			}
		})
		if err = errors.Join(err, over); err != nil {
			return err
		}
		for some := range slices.Chunk(objects, erasedAtOnce) {
			if err := still(ctx); err != nil {
				return err
			}
			if err := b.remove(ctx, some); err != nil {
				return err
			}
		}
	}
	return b.RemoveClaim(ctx, claim)
}

// Size is how large the files of a snapshot's volume are together, and how many entries it has.
func (s *Saved) Size() (bytes int64, entries int) {
	for _, e := range s.m.Entries {
		if s.m.Container == nil || strings.HasPrefix(e.Path, PartVolume+"/") {
			bytes = min(bytes, math.MaxInt64-max(e.Size, 0)) + max(e.Size, 0) // whoever made the manifest chose the numbers
			entries++
		}
	}
	return bytes, entries
}
