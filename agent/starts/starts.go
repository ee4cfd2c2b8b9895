package starts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// most is how many starts are kept, of all images; of one image it is messages.MaxStarts.
const most = 512

// Keeps is where the records are kept, as one value. boltstore.Kept implements it.
type Keeps interface {
	Load() ([]byte, error)
	Save(value []byte) error
}

// Options of New. All but Driver and Sandbox are required.
type Options struct {
	Keeps  Keeps
	Signer records.Signer
	Domain records.Domain
	Node   solana.PublicKey
	// Model is the class of the machine's GPUs now.
	Model func() uint16
	// Driver and Sandbox are the versions that the machine has now; nil for none.
	Driver, Sandbox func() string
	Now             func() time.Time
}

// Book keeps starts. It is safe for concurrent use.
type Book struct {
	o Options

	mu  sync.Mutex
	all []entry // the newest first
}

// entry is a signed start. What is in its record is not kept twice.
type entry struct {
	Record    []byte `json:"record"`
	Signature []byte `json:"signature"`

	start records.Start
}

// New reads what was kept. Records of another node or cluster are left out.
func New(o Options) (*Book, error) {
	if err := options.Complete("starts", o, "Driver", "Sandbox"); err != nil {
		return nil, err
	}
	b := &Book{o: o}
	raw, err := o.Keeps.Load()
	if err != nil {
		return nil, fmt.Errorf("read the starts of containers: %w", err)
	}
	if raw == nil {
		return b, nil
	}
	var kept []entry
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, fmt.Errorf("read the starts of containers: %w", err)
	}
	for _, e := range kept {
		if e.start, err = records.DecodeStart(e.Record); err == nil && e.start.Node == o.Node && e.start.Domain == o.Domain && len(e.Signature) == len(solana.Signature{}) {
			b.all = append(b.all, e)
		}
	}
	return b, nil
}

// Note keeps how the container of a lease started. What was noted of the lease first stays. ErrImage for a reference without a
// digest.
func (b *Book) Note(lease solana.PublicKey, image string, outcome records.StartOutcome) error {
	digest, err := Digest(image)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.all, func(e entry) bool { return e.start.Lease == lease }) {
		return nil
	}
	driver, sandbox := b.versions()
	s := records.Start{
		Domain: b.o.Domain, Image: digest, Node: b.o.Node, Lease: lease, At: b.o.Now().UTC().Truncate(time.Hour), Model: b.o.Model(), Outcome: outcome,
	}.On(driver, sandbox)
	sig, err := s.Sign(b.o.Signer)
	if err != nil {
		return err
	}
	record := s.Encode()
	all := bounded(slices.Insert(slices.Clone(b.all), 0, entry{Record: record[:], Signature: sig[:], start: s}))
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("starts of containers: %w", err)
	}
	if err := b.o.Keeps.Save(raw); err != nil {
		return fmt.Errorf("keep the start of lease %s: %w", lease, err)
	}
	b.all = all
	return nil
}

// bounded leaves the oldest out, of each image and of all.
func bounded(all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.start.At.Unix(), a.start.At.Unix()) })
	of := map[records.Hash]int{}
	all = slices.DeleteFunc(all, func(e entry) bool {
		of[e.start.Image]++
		return of[e.start.Image] > messages.MaxStarts
	})
	return all[:min(len(all), most)]
}

func (b *Book) versions() (driver, sandbox string) {
	if b.o.Driver != nil {
		driver = b.o.Driver()
	}
	if b.o.Sandbox != nil {
		sandbox = b.o.Sandbox()
	}
	return driver, sandbox
}

// Answer tells anybody of the starts of one image.
func (b *Book) Answer(_ context.Context, _ solana.PublicKey, r messages.StartsRequest) (messages.StartsAnswer, error) {
	now := records.Start{}.On(b.versions())
	a := messages.StartsAnswer{Version: messages.Version, Driver: now.Driver, Sandbox: now.Sandbox}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.all {
		if e.start.Image == r.Image {
			a.Starts = append(a.Starts, messages.SignedStart{Start: e.Record, Signature: [64]byte(e.Signature)})
		}
	}
	return a, nil
}

// ErrImage: the reference of an image has no sha256 digest.
var ErrImage = errors.New("the image has no sha256 digest")
