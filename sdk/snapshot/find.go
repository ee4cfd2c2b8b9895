package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"
)

// overTime is how long a restore that has failed may take to say so.
const overTime = 3 * time.Second

// Saved is a snapshot in a bucket.
type Saved struct {
	b    *Bucket
	hash Hash
	m    manifest
}

// Find reads what a snapshot has. Errors: ErrBucket, ErrDamaged.
func (b *Bucket) Find(ctx context.Context, hash Hash) (*Saved, error) {
	m, err := b.manifest(ctx, hash)
	if err != nil {
		return nil, err
	}
	return &Saved{b, hash, m}, nil
}

// Take is Find for whoever goes on from the snapshot: Prune keeps it until this Bucket has made another, is over, or it is given up.
func (b *Bucket) Take(ctx context.Context, hash Hash) (*Saved, error) {
	// First the mark, then the manifest: Prune keeps what a mark names.
	if err := b.mark(ctx, hash, false); err != nil {
		return nil, err
	}
	s, err := b.Find(ctx, hash)
	if err != nil {
		return nil, errors.Join(err, (&Saved{b: b, hash: hash}).GiveUp(ctx))
	}
	b.base, b.last = s.m.places(), hash
	return s, nil
}

// GiveUp says that nobody goes on from a snapshot that was taken.
func (s *Saved) GiveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), overTime)
	defer cancel()
	s.b.base, s.b.last = nil, Hash{}
	return s.b.mark(ctx, s.hash, true)
}

// manifest reads one and compares it with its name.
func (b *Bucket) manifest(ctx context.Context, hash Hash) (m manifest, err error) {
	sealed, err := b.get(ctx, path.Join("manifests", hash.String()), maxManifest)
	if err != nil {
		return m, err
	}
	if Hash(sha256.Sum256(sealed)) != hash {
		return m, fmt.Errorf("%w: the manifest is not %s", ErrDamaged, hash)
	}
	raw, err := b.open(sealed, nameOfList)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%w: manifest: %w", ErrDamaged, err)
	}
	if m.Version != version || len(m.Entries) > maxEntries {
		return m, fmt.Errorf("%w: a manifest of version %d with %d files; this program reads version %d", ErrDamaged, m.Version, len(m.Entries), version)
	}
	return m, nil
}

// Container is what was suspended; nil where the snapshot is of a volume alone.
func (s *Saved) Container() *Container { return s.m.Container }

// Bytes is how large the files of a part are together.
func (s *Saved) Bytes(part string) (sum int64) {
	for _, e := range s.m.Entries {
		if strings.HasPrefix(e.Path, part+"/") && e.Size > 0 {
			sum = min(sum, math.MaxInt64-e.Size) + e.Size // whoever made the manifest chose the numbers
		}
	}
	return sum
}
