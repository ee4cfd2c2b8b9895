package snapshot

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// dayForm is how the days are called below which chunks are.
	dayForm = "20060102"
	// folderWriters has a mark of each writer.
	folderWriters = "writers"
	// MinGrace is the least age at which Prune removes anything. A Save is over long before.
	MinGrace = 24 * time.Hour
	// markTime is how long a mark counts whose writer has not said that it is over: no lease runs longer.
	markTime = 366 * 24 * time.Hour
)

// mark is what a writer says of itself, in an object of its own below writers: the snapshot that it goes on from.
type mark struct {
	Snapshot string `json:"snapshot"`
	// Over: it writes no more.
	Over bool `json:"over,omitempty"`
	// Lease for which it writes.
	Lease string `json:"lease,omitempty"`
}

func (b *Bucket) mark(ctx context.Context, h Hash, over bool) error {
	raw, err := json.Marshal(mark{h.String(), over, b.lease})
	if err != nil {
		return fmt.Errorf("encode a mark: %w", err)
	}
	return b.put(ctx, path.Join(folderWriters, b.writer), raw)
}

// Over says that this Bucket writes no more: for Prune its last snapshot is one as any other from then on.
func (b *Bucket) Over(ctx context.Context) error {
	if b.last == (Hash{}) {
		return nil
	}
	return b.mark(ctx, b.last, true)
}

// PruneOptions say what stays.
type PruneOptions struct {
	// Keep is how many of the newest snapshots stay, at least one.
	Keep int
	// Grace is the age below which every snapshot stays, at least MinGrace.
	Grace time.Duration
	// Named are further snapshots that stay, such as those that the chain names.
	Named []Hash
	// Dry removes nothing.
	Dry bool
}

// Pruned is what stays and what was removed, or would be.
type Pruned struct {
	Kept      int   `json:"kept"`
	Snapshots int   `json:"snapshotsRemoved"`
	Chunks    int   `json:"chunksRemoved"`
	Bytes     int64 `json:"bytesRemoved"`
}

// Prune removes old snapshots, and the chunks that none of the others names. It may run while others write, and may be cut
// off and repeated:
//   - A writer's mark names the snapshot from which it goes on, so that this one stays. Other snapshots of before are of no use
//     to it: a Save names chunks of that snapshot, and those that writers have put below the day of its begin.
//   - A Save takes six hours at most, so that chunks of a day are named by a snapshot before the day is old enough.
//   - Snapshots are removed before chunks: none is there without its own. Ages are by the bucket's clock.
//
// Errors: ErrBucket, and ErrDamaged where a snapshot that stays cannot be read: then nothing is removed.
func (b *Bucket) Prune(ctx context.Context, o PruneOptions) (out Pruned, err error) {
	if o.Keep < 1 || o.Grace < MinGrace {
		return out, fmt.Errorf("keep %d snapshots and those of %v: at least 1 and %v", o.Keep, o.Grace, MinGrace)
	}
	now, err := b.now(ctx)
	if err != nil {
		return out, err
	}
	claims, err := b.Claims(ctx)
	if err != nil {
		return out, err
	}
	live, gone, err := b.marks(ctx, now.Add(-markTime), len(claims) > 0)
	if err != nil {
		return out, err
	}
	if claims, err = b.Claims(ctx); err != nil { // who takes a volume names its snapshot, and then removes marks that have named it
		return out, err
	}
	for _, c := range claims {
		if c.From != (Hash{}) {
			o.Named = append(o.Named, c.From)
		}
	}
	kept, old, err := b.sorted(ctx, now.Add(-o.Grace), o.Keep, append(live, o.Named...))
	if err != nil {
		return out, err
	}
	if err := stays(live, kept); err != nil {
		return out, err
	}
	used := map[string]bool{}
	for h := range kept {
		m, err := b.manifest(ctx, h)
		if err != nil {
			return out, fmt.Errorf("nothing was removed: snapshot %s: %w; remove the object of that name below manifests if it is of no use", h, err)
		}
		for _, e := range m.Entries {
			for _, at := range e.Chunks {
				used[at] = true
			}
		}
	}
	out.Kept, out.Snapshots = len(kept), len(old)
	if !o.Dry {
		if err := b.remove(ctx, append(old, gone...)); err != nil {
			return out, err
		}
		// A writer that has read its manifest before it was removed has written its mark before that.
		if live, _, err = b.marks(ctx, now.Add(-markTime), len(claims) > 0); err != nil {
			return out, err
		}
		if err := stays(live, kept); err != nil {
			return out, err
		}
	}
	chunks, err := b.unused(ctx, now.Add(-o.Grace), used)
	if err != nil {
		return out, err
	}
	out.Chunks = len(chunks)
	for _, c := range chunks {
		out.Bytes += c.Size
	}
	if o.Dry {
		return out, nil
	}
	return out, b.remove(ctx, chunks)
}

// stays returns an error if a snapshot from which a writer continues is not kept.
func stays(live []Hash, kept map[Hash]bool) error {
	for _, h := range live {
		if !kept[h] {
			return fmt.Errorf("%w: a lease continues from snapshot %s, which is not there; no parts of snapshots were removed: run it again when that lease has made another snapshot; if the lease is over, remove the mark below writers that names this snapshot", ErrBucket, h)
		}
	}
	return nil
}

// list lists the objects of a folder, and the folders in it.
func (b *Bucket) list(ctx context.Context, folder string) (out []minio.ObjectInfo, err error) {
	err = b.each(ctx, folder, false, func(o minio.ObjectInfo) { out = append(out, o) })
	return out, err
}

// each calls f for the objects of a folder: deep for those in its folders too, else also for these folders. Error: ErrBucket.
func (b *Bucket) each(ctx context.Context, folder string, deep bool, f func(minio.ObjectInfo)) error {
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: path.Join(b.prefix, folder) + "/", Recursive: deep}) {
		if o.Err != nil {
			return fmt.Errorf("%w: list %s of %s: %w", ErrBucket, path.Join(b.prefix, folder), b.bucket, o.Err)
		}
		f(o)
	}
	return nil
}

// marks lists the snapshots from which writers go on, and the marks of those that are over, or silent since a time. In a folder that is
// claimed, what a lease has written last counts also when its writer is over: the next lease begins with it.
func (b *Bucket) marks(ctx context.Context, silent time.Time, claimed bool) (live []Hash, gone []minio.ObjectInfo, err error) {
	all, err := b.list(ctx, folderWriters)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		m, h, err := b.readMark(ctx, o)
		switch {
		case Missing(err): // somebody has removed it meanwhile
		case err != nil:
			return nil, nil, err
		case claimed && m.Lease != "":
			live = append(live, h)
		case m.Over, o.LastModified.Before(silent):
			gone = append(gone, o)
		default:
			live = append(live, h)
		}
	}
	return live, gone, nil
}

func (b *Bucket) readMark(ctx context.Context, o minio.ObjectInfo) (m mark, h Hash, err error) {
	name := path.Join(folderWriters, path.Base(o.Key))
	raw, err := b.get(ctx, name, 1024)
	if err != nil {
		return m, h, err
	}
	ok := json.Unmarshal(raw, &m) == nil
	if ok {
		h, ok = parseHash(m.Snapshot)
	}
	if !ok {
		return m, h, fmt.Errorf("%w: %s is not a mark", ErrDamaged, name)
	}
	return m, h, nil
}

func parseHash(text string) (h Hash, ok bool) {
	n, err := hex.Decode(h[:], []byte(text))
	return h, len(text) == 2*len(h) && err == nil && n == len(h)
}

// sorted tells snapshots that stay from others.
func (b *Bucket) sorted(ctx context.Context, young time.Time, keep int, named []Hash) (kept map[Hash]bool, old []minio.ObjectInfo, err error) {
	all, err := b.list(ctx, "manifests")
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(all, func(x, y minio.ObjectInfo) int { return y.LastModified.Compare(x.LastModified) })
	kept = map[Hash]bool{}
	for _, o := range all {
		h, ok := parseHash(path.Base(o.Key))
		switch {
		case !ok: // none of ours
		case len(kept) < keep, !o.LastModified.Before(young), slices.Contains(named, h):
			kept[h] = true
		default:
			old = append(old, o)
		}
	}
	return kept, old, nil
}

// unused lists chunks of days that were over before a time and that no snapshot names.
func (b *Bucket) unused(ctx context.Context, before time.Time, used map[string]bool) (out []minio.ObjectInfo, err error) {
	days, err := b.list(ctx, "chunks")
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		name := path.Base(d.Key)
		if begin, err := time.Parse(dayForm, name); err != nil || !begin.AddDate(0, 0, 1).Before(before) {
			continue
		}
		chunks, err := b.list(ctx, path.Join("chunks", name))
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			if !used[path.Join(name, path.Base(c.Key))] {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// remove removes objects. What is not there any more is no error.
func (b *Bucket) remove(ctx context.Context, objects []minio.ObjectInfo) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan minio.ObjectInfo)
	go func() {
		defer close(queue)
		for _, o := range objects {
			select {
			case queue <- minio.ObjectInfo{Key: o.Key}:
			case <-ctx.Done():
				return
			}
		}
	}()
	for failed := range b.client.RemoveObjects(ctx, b.bucket, queue, minio.RemoveObjectsOptions{}) {
		err = errors.Join(err, fmt.Errorf("%w: remove %s: %w", ErrBucket, failed.ObjectName, failed.Err))
	}
	return errors.Join(err, ctx.Err())
}
