package measure

import (
	"context"
	"fmt"
	"time"
)

// Task is what one device is asked for.
type Task struct {
	Profile Profile
	// Nonce is [Place.Nonce] of the device, Columns [Place.ColumnSeed].
	Nonce, Columns Hash
}

// NewTask is the task of a GPU of a machine.
func NewTask(p Place, gpu uint8, profile Profile) Task {
	return Task{Profile: profile, Nonce: p.Nonce(gpu, profile.Hash()), Columns: p.ColumnSeed(profile.Order)}
}

// Device computes what is asked of one GPU, or of the processors in place of one.
type Device interface {
	// Run makes chain and walks, which take the times of the profile, and calls ended as each round ends, from one
	// goroutine. ended must not block: the next round waits for it. The run keeps its memory until it is closed.
	Run(ctx context.Context, t Task, ended func(round uint32, root Hash)) (Run, error)
}

// Run is what a device computed, and can show again.
type Run interface {
	Result() Result
	// Leaves opens leaves, in the order in which they are asked for.
	Leaves(ctx context.Context, at []LeafAt) ([]LeafOpening, error)
	// Walks opens walks, in the order in which they are asked for.
	Walks(ctx context.Context, at []WalkAt) ([]WalkOpening, error)
	// Close gives the memory back. Nothing can be opened any more.
	Close() error
}

// Result is what a run states.
type Result struct {
	Roots     []Hash
	Walks     uint32
	WalksRoot Hash
	// Chain and Walk are the times that were taken.
	Chain, Walk time.Duration
}

// Entry is what the commitment holds of the result.
func (r Result) Entry(gpu uint8, p Profile) Entry {
	return Entry{
		GPU: gpu, Profile: p.Hash(),
		Rounds: uint32(len(r.Roots)), LastRoot: r.Roots[len(r.Roots)-1], RoundsRoot: RoundsRoot(r.Roots),
		Walks: r.Walks, WalksRoot: r.WalksRoot,
		ChainMs: uint32(r.Chain.Milliseconds()), WalkMs: uint32(r.Walk.Milliseconds()),
	}
}

// LeafOpening is a leaf and its path to the root of its round.
type LeafOpening struct {
	Bytes [LeafBytes]byte
	Path  []Hash
}

// WalkEnds is a walk in its lane's tree.
type WalkEnds struct {
	Start, End State
	Path       []Hash
}

// WalkOpening is a walk, its lane's path to the root of walks, and the walk before it if it is not the lane's first.
type WalkOpening struct {
	WalkEnds
	LanePath []Hash
	Before   *WalkEnds
}

// Answer opens what a member's draw names.
func Answer(ctx context.Context, r Run, p Profile, d Draw) ([]byte, error) {
	result := r.Result()
	at, walksAt := d.Leaves(p, uint32(len(result.Roots))), d.Walks(p, result.Walks)
	leaves, err := r.Leaves(ctx, at[:])
	if err != nil {
		return nil, fmt.Errorf("measure: open leaves: %w", err)
	}
	walks, err := r.Walks(ctx, walksAt[:])
	if err != nil {
		return nil, fmt.Errorf("measure: open walks: %w", err)
	}
	b := make([]byte, 0, AnswerBytes(p, result.Walks, d))
	for _, l := range leaves {
		b = appendPath(append(b, l.Bytes[:]...), l.Path)
	}
	for _, w := range walks {
		b = appendPath(w.append(b), w.LanePath)
		if w.Before != nil {
			b = w.Before.append(b)
		}
	}
	return b, nil
}

func (w WalkEnds) append(b []byte) []byte {
	start, end := w.Start.Bytes(), w.End.Bytes()
	return appendPath(append(append(b, start[:]...), end[:]...), w.Path)
}

func appendPath(b []byte, path []Hash) []byte {
	for _, h := range path {
		b = append(b, h[:]...)
	}
	return b
}

// AnswerBytes is the length of the answer to a draw. Drawn walks that are not the first of their lane take more, since
// the one before is shown too.
func AnswerBytes(p Profile, walks uint32, d Draw) int {
	ends := 2*StateBytes + 32*Depth(walks)
	n := OpenedLeaves*(LeafBytes+32*p.LeafDepth()) + OpenedWalks*(ends+32*Depth(p.Lanes))
	for _, at := range d.Walks(p, walks) {
		if at.Walk > 0 {
			n += ends
		}
	}
	return n
}
