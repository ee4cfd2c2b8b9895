package image

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

const maxEntries = 1 << 20

// PullOptions of one pull.
type PullOptions struct {
	// Limit is the most bytes that the files of the image may have together.
	Limit int64
	// Credential is the customer's; its zero value is everybody's.
	Credential Credential
	// Own: the image is the machine's owner's, who asks nobody for what is there.
	Own bool
	// Level is that of the processor, see [ociregistry.LevelOf]; 0 for this machine's.
	Level int
	// Keep is told the image before its layers can be removed: whatever it writes down must be seen by [Options].InUse when
	// it returns.
	Keep func(Image) error
	// Report hears how far the pull is, four times a second and at its end; nil for nothing. Calls do not overlap.
	Report func(Progress)
}

// level is that of the processor on which the image is to run.
func (o PullOptions) level() int {
	if o.Level > 0 {
		return o.Level
	}
	return max(cpuid.CPU.X64Level(), ociregistry.Base)
}

// pull is one that is under way.
type pull struct {
	*Store
	o     PullOptions
	r     Reference
	id    string
	locks locks
	visit *visitor
	left  budget
	meter *meter
	// reserved is what this pull has of the cache; done what of its use is counted with the layers by now. ahead is the size of what
	// was fetched before its turn.
	reserved, done, ahead int64
	// alone: one layer is fetched at a time. crowded: there was no room to unpack, because of what was fetched ahead.
	alone, crowded bool
	fetching       sync.WaitGroup
	blobs          []*blob
}

// Pull returns an image that is unpacked, after fetching from its registry what is missing. The registry is asked in any
// case whether the credential opens the image, unless that is the owner's. Pull needs root: owners of files and device nodes for removed files are
// kept. Errors: ErrUnusable, ErrTooLarge, those of the context, of Keep and of the file system.
func (s *Store) Pull(ctx context.Context, r Reference, o PullOptions) (Image, error) {
	if err := s.Clean(ctx); err != nil {
		return Image{}, err
	}
	i, crowded, err := s.pull(ctx, r, o, false)
	if crowded && ctx.Err() == nil {
		i, _, err = s.pull(ctx, r, o, true)
	}
	return i, err
}

// pull is Pull once. Crowded: the cache had no room because of what was fetched ahead, so that layers may fit that come alone.
func (s *Store) pull(ctx context.Context, r Reference, o PullOptions, alone bool) (i Image, crowded bool, err error) {
	p, err := s.begin(ctx, r, o)
	if err != nil {
		return Image{}, false, err
	}
	defer p.end()
	p.alone = alone
	if i, err = p.run(ctx); err != nil {
		return Image{}, p.crowded, unusable(ctx, r, err)
	}
	if o.Keep != nil {
		err = o.Keep(i)
	}
	return i, false, err
}

func (s *Store) begin(ctx context.Context, r Reference, o PullOptions) (*pull, error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	p := &pull{Store: s, o: o, r: r, id: hex.EncodeToString(id), visit: s.visitor(), meter: newMeter()}
	var err error
	if p.locks, err = s.openLocks(); err != nil {
		return nil, err
	}
	if err := p.locks.take(ctx, unix.F_WRLCK, lockPull, p.id); err != nil {
		p.locks.close()
		return nil, err
	}
	if err := os.Mkdir(p.folder(), 0o700); err != nil {
		p.locks.close()
		return nil, fmt.Errorf("image: %w", err)
	}
	p.left = budget{limit: o.Limit, entries: maxEntries, more: func(used int64) error {
		err := p.more(ctx, used)
		p.crowded = errors.Is(err, ErrTooLarge) && p.ahead > 0
		return err
	}}
	return p, nil
}

// end removes what the pull needed; a failure is left to Clean.
func (p *pull) end() {
	p.visit.next.CloseIdleConnections()
	for _, b := range p.blobs {
		b.file.Close()
	}
	_ = os.RemoveAll(p.folder())
	p.locks.close()
}

// publish writes a file that others read, and that others may write.
func (p *pull) publish(path string, v any) error {
	fresh := filepath.Join(p.folder(), "publish.json")
	if err := write(fresh, v); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}

func (p *pull) folder() string { return filepath.Join(p.tmp(), p.id) }

// more makes the pull's part of the cache as large as what it has written and is not counted with the layers.
func (p *pull) more(ctx context.Context, used int64) error {
	need := used - p.done + p.ahead
	if need <= p.reserved {
		return nil
	}
	reserved, err := p.reserve(ctx, p.id, need, reserveStep)
	if err == nil {
		p.reserved = reserved
	}
	return err
}

// scope separates what credentials have opened from what is there for everyone.
func (p *pull) scope() string {
	if p.o.Credential == (Credential{}) {
		return ""
	}
	return p.r.name.Context().Name()
}

func (p *pull) run(ctx context.Context) (Image, error) {
	defer p.meter.report(reportEvery, p.o.Report)()
	if i, ok, err := p.cached(ctx); ok || err != nil {
		return i, err
	}
	m, config, err := p.resolve(ctx)
	if err != nil {
		return Image{}, err
	}
	layers, err := p.layers(ctx, m, config)
	if err != nil {
		return Image{}, err
	}
	out := Image{Config: config.Config}
	for _, l := range layers {
		out.Packed = append(out.Packed, l.Size)
	}
	if out.Layers, err = p.addAll(ctx, layers); err != nil {
		return Image{}, err
	}
	p.touch(out)
	if err := p.publish(p.record(p.scope(), p.r), out); err != nil {
		return Image{}, err
	}
	p.meter.all()
	return out, nil
}

// cached returns the image if all of it is there and the registry still gives it to the customer.
func (p *pull) cached(ctx context.Context) (Image, bool, error) {
	i, ok, err := p.get(p.scope(), p.r)
	if err != nil || !ok {
		return Image{}, false, err
	}
	for _, layer := range i.Layers {
		if err := p.locks.take(ctx, unix.F_RDLCK, lockUse, layer); err != nil {
			return Image{}, false, err
		}
		if !p.has(layer) {
			return Image{}, false, nil
		}
	}
	if bytes, err := p.Bytes(i); err != nil {
		return Image{}, false, err
	} else if bytes > p.o.Limit {
		return Image{}, false, p.left.tooLarge()
	}
	if !p.o.Own {
		if err := p.opens(ctx); err != nil {
			return Image{}, false, err
		}
	}
	p.touch(i)
	p.meter.layers(i.Packed...)
	p.meter.all()
	return i, true, nil
}

// opens asks the registry whether it gives the image to the customer. For an image that was there for everyone, a registry that is asked
// too often does not say that it is closed.
func (p *pull) opens(ctx context.Context) error {
	everyones := p.scope() == ""
	p.visit.patient.Store(!everyones)
	defer p.visit.patient.Store(true)
	_, err := remote.Head(p.r.name, p.visit.options(ctx, p.o.Credential)...)
	if err != nil && (!everyones || !tooOften(err)) { // some registries answer such a question badly
		_, err = remote.Get(p.r.name, p.visit.options(ctx, p.o.Credential)...)
	}
	if everyones && tooOften(err) {
		return nil
	}
	return err
}

func tooOften(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusTooManyRequests
}

// touch writes down that an image's layers are used: the upper ones a little earlier, because they are of no use without
// those below.
func (p *pull) touch(i Image) {
	now := time.Now()
	for above, id := range i.Layers {
		_ = os.Chtimes(p.sizeOf(id), now, now.Add(-time.Duration(above)*time.Microsecond)) // only what goes first depends on it
	}
}

// resolve fetches the manifest for this machine, and the configuration.
func (p *pull) resolve(ctx context.Context) (*v1.Manifest, *v1.ConfigFile, error) {
	found, err := remote.Get(p.r.name, p.visit.options(ctx, p.o.Credential)...)
	if err != nil {
		return nil, nil, err
	}
	img, err := p.forThisMachine(ctx, found)
	if err != nil {
		return nil, nil, err
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, nil, err
	}
	if err := jobspec.CheckManifest(m); err != nil {
		return nil, nil, p.refuses(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	if err := jobspec.CheckPlatform(m, config, p.o.level()); err != nil {
		return nil, nil, p.refuses(err)
	}
	return m, config, nil
}

// refuses is the error of an image that no machine runs.
func (p *pull) refuses(why error) error {
	kind := ErrUnusable
	var e *jobspec.Error
	if errors.As(why, &e) && (e.Rule == jobspec.RuleConfigSize || e.Rule == jobspec.RuleImageSize) {
		kind = ErrTooLarge
	}
	return fmt.Errorf("%w: %s: %w", kind, p.r, why)
}

// forThisMachine picks an image from a list.
func (p *pull) forThisMachine(ctx context.Context, found *remote.Descriptor) (v1.Image, error) {
	if !found.MediaType.IsIndex() {
		return found.Image()
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	chosen, ok := ociregistry.Choose(list.Manifests, p.o.level())
	if !ok {
		return nil, fmt.Errorf("%w: %s has no image for %s/%s and this machine's processor", ErrUnusable, p.r, ociregistry.OS, ociregistry.Architecture)
	}
	return remote.Image(p.r.name.Context().Digest(chosen.Digest.String()), p.visit.options(ctx, p.o.Credential)...)
}

// unusable says whose failure an error is: the image's or its registry's, if it is not one of the caller or of the disk.
func unusable(ctx context.Context, r Reference, err error) error {
	var disk *os.PathError
	var answer *transport.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("image: pull %s: %w", r, ctx.Err())
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: pull %s: the node's disk has no place or no file left: %w", ErrTooLarge, r, err)
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrUnusable), errors.As(err, &disk):
		return fmt.Errorf("image: pull %s: %w", r, err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound):
		return fmt.Errorf("%w: %s is not there, or not for everyone (the registry answers %d)", ErrUnusable, r, answer.StatusCode)
	default:
		return fmt.Errorf("%w: %s: %w", ErrUnusable, r, err)
	}
}
