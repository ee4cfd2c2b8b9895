package measure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// maxRecord bounds an encoded record, bytes: roots and openings of [format.MaxGPUs] GPUs.
const maxRecord = format.MaxGPUs*(32*format.MaxRounds+messages.MaxMeasureAnswer) + 16<<10

// ErrRecord means that a record is none, or contradicts itself.
var ErrRecord = errors.New("not a record of a measurement")

// Record is what others need to check a measurement that a keeper has stated to be wrong. The statement's detail is the
// SHA-256 of the encoded record.
type Record struct {
	Domain [8]byte `cbor:"1,keyasint"`
	// Node is the node's account, Key the machine's.
	Node [32]byte `cbor:"2,keyasint"`
	Key  [32]byte `cbor:"3,keyasint"`
	// Period, Tick, Slot and BlockHash name the block that made the instant.
	Period    uint64   `cbor:"4,keyasint"`
	Tick      uint8    `cbor:"5,keyasint"`
	Slot      uint64   `cbor:"6,keyasint"`
	BlockHash [32]byte `cbor:"7,keyasint"`
	// Commitment is what the machine signed.
	Commitment messages.MeasureCommitment `cbor:"8,keyasint"`
	GPUs       []RecordGPU                `cbor:"9,keyasint" max:"8"`
}

// RecordGPU is what was asked of one GPU, and what came.
type RecordGPU struct {
	GPU uint8 `cbor:"1,keyasint"`
	// Profile is what was asked for, encoded.
	Profile []byte `cbor:"2,keyasint" max:"25"`
	// Roots are those of all rounds, 32 bytes each.
	Roots []byte `cbor:"3,keyasint" max:"131072"`
	// Drawn says that Challenge was sent. Opening is what came; empty where nothing did.
	Drawn     bool                    `cbor:"4,keyasint"`
	Challenge [32]byte                `cbor:"5,keyasint"`
	Opening   messages.MeasureOpening `cbor:"6,keyasint"`
}

// record makes the record of what was collected; nil where the machine has signed nothing.
func (c *collected) record(a Asked) *Record {
	if c.commitment == nil {
		return nil
	}
	r := &Record{Domain: a.Place.Domain, Node: a.Place.Node, Key: a.Key, Commitment: *c.commitment}
	for i, asked := range a.GPUs {
		profile := asked.Profile.Bytes()
		g := RecordGPU{GPU: asked.GPU, Profile: profile[:]}
		for _, root := range c.roots[i] {
			g.Roots = append(g.Roots, root[:]...)
		}
		if i < len(c.drawn) {
			g.Drawn, g.Challenge, g.Opening = true, c.drawn[i].challenge, c.drawn[i].MeasureOpening
		}
		r.GPUs = append(r.GPUs, g)
	}
	return r
}

// Of notes the block that made the instant.
func (r *Record) Of(at instant.Instant) {
	r.Period, r.Tick, r.Slot, r.BlockHash = uint64(at.Period), uint8(at.Tick), at.Slot, at.Hash
}

// Encode returns the record's bytes, and their SHA-256.
func (r *Record) Encode() (b []byte, hash [32]byte, err error) {
	if b, err = p2p.Encode(r); err != nil {
		return nil, hash, fmt.Errorf("record of a measurement: %w", err)
	}
	return b, sha256.Sum256(b), nil
}

// DecodeRecord reads a record. Error: ErrRecord.
func DecodeRecord(b []byte) (*Record, error) {
	var r Record
	if len(b) > maxRecord {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrRecord, len(b), maxRecord)
	}
	if err := p2p.Decode(b, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return &r, nil
}

// Verdict is what a record shows.
type Verdict uint8

const (
	// NotShown: the record has nothing wrong that the machine has signed. Only the keeper says it.
	NotShown Verdict = iota
	// Shown: the machine has signed an answer that no honest machine signs.
	Shown
	// Unopened: the machine has signed that it opens nothing of its commitment. Whether its reason holds is on chain.
	Unopened
	// Refuted: the machine has opened every GPU, and all that it has signed is right.
	Refuted
)

// String is the verdict in words.
func (v Verdict) String() string {
	switch v {
	case Shown:
		return "the machine has signed a wrong answer"
	case Unopened:
		return "the machine has signed that it opens nothing"
	case Refuted:
		return "all that the machine has signed is right"
	}
	return "only the keeper says it: the machine has signed nothing that is wrong"
}

// Check repeats the measurement's verdict from what the machine has signed, offline; why says what it is about. Whether the
// block is the period's instant is for who reads the chain. Errors: ErrRecord, the context's.
func (r *Record) Check(ctx context.Context) (v Verdict, why, err error) {
	at, here := instant.Draw(r.Domain, records.Period(r.Period), int(r.Tick), r.Slot, r.BlockHash, time.Time{})
	if !here {
		return NotShown, nil, fmt.Errorf("%w: slot %d can be no instant of period %d at tick %d", ErrRecord, r.Slot, r.Period, r.Tick)
	}
	place := format.Place{Domain: r.Domain, Instant: at.Seed, Node: r.Node}
	asked, roots, err := r.asked()
	if err != nil {
		return NotShown, nil, err
	}
	signed, err := decodeSigned(r.Commitment)
	if err != nil {
		return NotShown, nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if c, err := format.DecodeCommitment(signed.Commitment); err != nil || !c.Signed(r.Key, signed.Signature) {
		return NotShown, format.ErrSignature, nil
	}
	switch commitment, err := signed.Check(place, r.Key, asked); {
	case errors.Is(err, format.ErrCount):
		return Shown, err, nil
	case err != nil: // entries and profiles are the keeper's: it may have put others into the record
		return NotShown, err, nil
	default:
		return r.opened(ctx, place, asked, roots, commitment, signed.Entries)
	}
}

// opened is what the openings of all GPUs show: the first that is wrong decides.
func (r *Record) opened(
	ctx context.Context, place format.Place, asked []format.Asked, roots [][]format.Hash, c format.Commitment, entries []format.Entry,
) (v Verdict, why, err error) {
	v = Refuted
	for i, e := range entries {
		of, reason, err := r.gpu(ctx, i, place, asked[i], c, e, roots[i])
		switch {
		case err != nil:
			return NotShown, nil, err
		case of == Shown || of == Unopened:
			return of, reason, nil
		case of == NotShown && v != NotShown:
			v, why = of, reason
		}
	}
	return v, why, nil
}

// asked are the GPUs that were asked for, and their roots.
func (r *Record) asked() (asked []format.Asked, roots [][]format.Hash, err error) {
	for _, g := range r.GPUs {
		p, err := format.DecodeProfile(g.Profile)
		if err != nil || len(g.Roots)%32 != 0 {
			return nil, nil, fmt.Errorf("%w: GPU %d: %d bytes of profile, %d of roots", ErrRecord, g.GPU, len(g.Profile), len(g.Roots))
		}
		all := make([]format.Hash, len(g.Roots)/32)
		for i := range all {
			all[i] = format.Hash(g.Roots[32*i:])
		}
		asked, roots = append(asked, format.Asked{GPU: g.GPU, Profile: p}), append(roots, all)
	}
	return asked, roots, nil
}

// gpu is what the opening of the i-th GPU shows.
func (r *Record) gpu(
	ctx context.Context, i int, place format.Place, asked format.Asked, c format.Commitment, e format.Entry, roots []format.Hash,
) (v Verdict, why, err error) {
	g := &r.GPUs[i]
	if err := format.CheckRoots(e, roots, nil); err != nil { // roots are not signed one by one: the keeper may have changed them
		return NotShown, err, nil
	}
	o := records.NewOpening(r.Commitment.Commitment, g.Challenge, g.GPU, uint8(g.Opening.Refused), g.Opening.Answer)
	switch err := o.Verify(r.Key, solana.Signature(g.Opening.Signature)); {
	case !g.Drawn:
		return NotShown, fmt.Errorf("nothing was drawn of GPU %d", g.GPU), nil
	case err != nil:
		return NotShown, fmt.Errorf("GPU %d: the machine has signed no answer to the draw: %w", g.GPU, err), nil
	case g.Opening.Refused == messages.MeasureTooMany: // so it answers any keeper that draws twice
		return NotShown, fmt.Errorf("GPU %d: %w", g.GPU, &RefusedError{g.Opening.Refused}), nil
	case g.Opening.Refused != 0:
		return Unopened, fmt.Errorf("GPU %d: %w", g.GPU, &RefusedError{g.Opening.Refused}), nil
	}
	order := asked.Profile.Order
	verifier, err := format.NewVerifier(format.NewTask(place, g.GPU, asked.Profile), format.NewColumns(place.ColumnSeed(order), order), e, roots)
	if err != nil {
		return NotShown, nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	switch err := verifier.Verify(ctx, format.NewDraw(g.Challenge, g.GPU, c), g.Opening.Answer); {
	case err == nil:
		return Refuted, nil, nil
	case ctx.Err() != nil:
		return NotShown, nil, ctx.Err()
	default:
		return Shown, err, nil
	}
}
