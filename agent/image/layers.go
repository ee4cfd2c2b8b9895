package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sys/unix"
)

// ahead is how many layers are fetched before their turn to be unpacked comes: with the one whose turn it is, three are fetched
// at a time.
const ahead = 2

// layer is one of an image that is pulled.
type layer struct {
	v1.Descriptor
	diffID v1.Hash
	id     string
	part   *part
	blob   *blob // what is fetched before its turn; nil for a layer that is read as it comes
}

// once names the lock with which a layer is fetched once. Pulls from one repository wait for each other; those from others
// do not, because a registry may be slow on purpose.
func (p *pull) once(l *layer) string { return keyOf(l.id, p.r.name.Context().Name()) }

// layers are those of an image, the lowest first. The cache has room for what is to be fetched of them.
func (p *pull) layers(ctx context.Context, m *v1.Manifest, config *v1.ConfigFile) ([]*layer, error) {
	chain := p.scope()
	layers, sizes := make([]*layer, len(m.Layers)), make([]int64, len(m.Layers))
	var packed, largest int64
	for at, diffID := range config.RootFS.DiffIDs {
		chain = keyOf(chain, diffID.String())
		l := &layer{Descriptor: m.Layers[at], diffID: diffID, id: chain, part: &part{m: p.meter, size: m.Layers[at].Size}}
		layers[at], sizes[at] = l, l.Size
		// The lock keeps the layer, if it is there, and later when it is.
		if err := p.locks.take(ctx, unix.F_RDLCK, lockUse, chain); err != nil {
			return nil, err
		}
		if p.has(chain) {
			continue
		}
		if packed += min(l.Size, math.MaxInt64-packed); packed > p.o.Limit {
			return nil, fmt.Errorf("%w: its layers are %s to fetch, and it may take %s here", ErrTooLarge, mib(packed), mib(p.o.Limit))
		}
		largest = max(largest, l.Size)
	}
	p.visit.max.Store(largest + maxDocument)
	p.meter.layers(sizes...)
	return layers, p.more(ctx, packed)
}

// addAll makes sure that all layers are there. It returns their names.
func (p *pull) addAll(ctx context.Context, layers []*layer) (ids []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer p.fetching.Wait()
	defer cancel()
	for at, l := range layers {
		if err := p.add(ctx, l, layers[at+1:], ids); err != nil {
			return nil, err
		}
		ids = append(ids, l.id)
	}
	return ids, nil
}

// add makes sure that a layer is there, and begins to fetch the next ones.
func (p *pull) add(ctx context.Context, l *layer, next []*layer, parents []string) (err error) {
	if l.blob != nil {
		err = l.blob.begun()
	} else {
		err = p.locks.take(ctx, unix.F_WRLCK, lockUnpack, p.once(l))
	}
	if err != nil {
		return err
	}
	defer func() { _, _ = p.locks.try(unix.F_UNLCK, lockUnpack, p.once(l)) }() // the end of the pull lets go, too
	if p.has(l.id) {
		var z size
		if _, err := read(p.sizeOf(l.id), &z); err != nil {
			return err
		}
		if p.left.used+z.Bytes > p.left.limit {
			return p.left.tooLarge()
		}
		p.left.used, p.done = p.left.used+z.Bytes, p.done+z.Bytes
		l.part.over()
		return p.forget(l)
	}
	if err := p.fetchAhead(ctx, next); err != nil {
		return err
	}
	packed := io.Reader(l.blob)
	if l.blob == nil {
		body, err := p.open(ctx, l)
		if err != nil {
			return err
		}
		defer body.Close()
		packed = &limited{ReadCloser: body, left: l.Size}
	}
	before := p.left.used
	if err := p.install(ctx, l.id, l.part.reading(packed), l.diffID, parents); err != nil {
		return err
	}
	l.part.over()
	used, was := p.left.used-before, p.ahead
	p.done += used
	if err := p.forget(l); err != nil {
		return err
	}
	p.reserved, err = p.reserve(ctx, p.id, max(0, p.reserved-used-(was-p.ahead)), 0)
	return err
}

// open asks the registry for a layer.
func (p *pull) open(ctx context.Context, l *layer) (io.ReadCloser, error) {
	found, err := remote.Layer(p.r.name.Context().Digest(l.Digest.String()), p.visit.options(ctx, p.o.Credential)...)
	if err != nil {
		return nil, err
	}
	body, err := found.Compressed()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{counting{body, l.part.fetched}, body}, nil
}

// fetchAhead begins to fetch layers whose turn comes later, as far as the cache has room for them.
func (p *pull) fetchAhead(ctx context.Context, next []*layer) error {
	for _, l := range next[:min(ahead, len(next))] {
		if p.alone || l.blob != nil || p.has(l.id) {
			continue
		}
		p.ahead += l.Size
		if err := p.more(ctx, p.left.used); err != nil {
			p.ahead -= l.Size
			if errors.Is(err, ErrTooLarge) {
				return nil // it is fetched when its turn comes
			}
			return err
		}
		path := filepath.Join(p.folder(), l.id+".blob")
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("image: %w", err)
		}
		l.blob = newBlob(f, l.Size)
		p.blobs = append(p.blobs, l.blob)
		p.fetching.Go(func() { l.blob.end(p.fetch(ctx, l)) })
	}
	return nil
}

// fetch fills a blob, unless another pull has unpacked the layer by then.
func (p *pull) fetch(ctx context.Context, l *layer) error {
	if err := p.locks.take(ctx, unix.F_WRLCK, lockUnpack, p.once(l)); err != nil || p.has(l.id) {
		return err
	}
	body, err := p.open(ctx, l)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(l.blob, body)
	return err
}

// forget removes what was fetched of a layer. The room is free again.
func (p *pull) forget(l *layer) error {
	if l.blob == nil {
		return nil
	}
	l.blob.file.Close()
	if err := os.Remove(l.blob.file.Name()); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	p.ahead -= l.Size
	return nil
}

// blob is a layer as the registry has it, in a file that is read while it is written.
type blob struct {
	file *os.File
	size int64
	read int64

	mu      sync.Mutex
	grown   *sync.Cond
	written int64
	over    bool
	err     error
}

func newBlob(f *os.File, size int64) *blob {
	b := &blob{file: f, size: size}
	b.grown = sync.NewCond(&b.mu)
	return b
}

// Write appends bytes, at most as many as the manifest says.
func (b *blob) Write(p []byte) (int, error) {
	b.mu.Lock()
	at := b.written
	b.mu.Unlock()
	if at+int64(len(p)) > b.size {
		return 0, fmt.Errorf("%w: the registry sends more than it may", ErrTooLarge)
	}
	n, err := b.file.WriteAt(p, at)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written += int64(n)
	b.grown.Broadcast()
	return n, err
}

// end says that nothing more is written.
func (b *blob) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	b.grown.Broadcast()
}

// begun waits until bytes are there, or nothing will be.
func (b *blob) begun() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.written == 0 && !b.over {
		b.grown.Wait()
	}
	if b.written == 0 {
		return b.err
	}
	return nil
}

// Read waits for bytes that are not there yet. It is for one reader.
func (b *blob) Read(p []byte) (int, error) {
	b.mu.Lock()
	for b.read == b.written && !b.over {
		b.grown.Wait()
	}
	have, err := b.written-b.read, b.err
	b.mu.Unlock()
	switch {
	case have == 0 && err != nil:
		return 0, err
	case have == 0:
		return 0, io.EOF
	}
	n, err := b.file.ReadAt(p[:min(int64(len(p)), have)], b.read)
	b.read += int64(n)
	return n, err
}
