package work

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

var (
	// ErrRange: an entry is larger than any product of that order can be.
	ErrRange = errors.New("work: entry out of range")
	// ErrRoot: the entries do not belong to the claimed root.
	ErrRoot = errors.New("work: entries do not match the claimed root")
	// ErrMismatch: the proof answers another challenge (seed or order).
	ErrMismatch = errors.New("work: proof is for another challenge")
	// ErrWrongProduct: the claimed product is not A·B.
	ErrWrongProduct = errors.New("work: claimed product is wrong")
)

// WrongEntryError names one wrong entry of a claimed product. With the node's signed [Claim], Opening is all that
// prove_bad_work needs.
type WrongEntryError struct {
	Row, Col  int
	Got, Want int32
	Opening   ChunkOpening
}

func (e *WrongEntryError) Error() string {
	return fmt.Sprintf("%v: entry (%d, %d) is %d, must be %d", ErrWrongProduct, e.Row, e.Col, e.Got, e.Want)
}

// Unwrap makes errors.Is(err, ErrWrongProduct) true.
func (e *WrongEntryError) Unwrap() error { return ErrWrongProduct }

// Verifier checks whole products. The zero value is ready for use.
type Verifier struct {
	// MaxN lowers the largest accepted order; 0 means [MaxN].
	MaxN int
	// Rand is the source of the verifier's secret bytes; nil means crypto/rand.
	Rand io.Reader
}

func (v Verifier) maxN() int {
	if v.MaxN > 0 && v.MaxN < MaxN {
		return v.MaxN
	}
	return MaxN
}

// CheckHeader tells whether a header answers the challenge (seed, n).
func (v Verifier) CheckHeader(h Header, seed Seed, n int) error {
	if err := CheckOrder(h.N); err != nil {
		return err
	}
	if h.N > v.maxN() {
		return fmt.Errorf("%w: %d is above the limit of %d", ErrOrder, h.N, v.maxN())
	}
	if h.Seed != seed || h.N != n {
		return fmt.Errorf("%w: asked for order %d, got order %d", ErrMismatch, n, h.N)
	}
	return nil
}

// Verify reads header and body from r and checks them against the challenge.
func (v Verifier) Verify(ctx context.Context, seed Seed, n int, r io.Reader) (Header, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return h, err
	}
	if err := v.CheckHeader(h, seed, n); err != nil {
		return h, err
	}
	return h, v.VerifyBody(ctx, h, r)
}

// VerifyProof checks a product that is in memory already.
func (v Verifier) VerifyProof(ctx context.Context, p *Proof) error {
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := p.WriteBody(pw)
		pw.CloseWithError(err)
	}()
	err := v.VerifyBody(ctx, p.Header(), pr)
	pr.CloseWithError(io.ErrClosedPipe)
	<-done
	return err
}

// VerifyBody reads exactly [BodySize] bytes from r, row by row, in memory that grows with n, not n², and decides
// whether they are the product that h commits to. See the package comment for its soundness. r's deadline bounds how
// long a slow sender can hold the call; ctx is looked at between rows.
//
// Errors: [ErrEncoding] (short), [ErrRange], [ErrRoot], [*WrongEntryError].
func (v Verifier) VerifyBody(ctx context.Context, h Header, r io.Reader) error {
	if err := CheckOrder(h.N); err != nil {
		return err
	}
	if h.N > v.maxN() {
		return fmt.Errorf("%w: %d is above the limit of %d", ErrOrder, h.N, v.maxN())
	}
	source := v.Rand
	if source == nil {
		source = rand.Reader
	}
	var secret [32]byte
	if _, err := io.ReadFull(source, secret[:]); err != nil {
		return fmt.Errorf("work: verifier randomness: %w", err)
	}
	return verifyBody(ctx, h, r, &secret)
}

func verifyBody(ctx context.Context, h Header, r io.Reader, secret *[32]byte) error {
	n := h.N
	x := drawVector(&h.Seed, n, &h.Root, secret)
	y, err := timesB(ctx, &h.Seed, x)
	if err != nil {
		return err
	}
	raw, values, a := make([]byte, 4*n), make([]int32, n), make([]int8, n)
	rowRoots, leaves := make([]Hash, n), make([]Hash, 0, n/ChunkEntries)
	badRow, badValues := -1, []int32(nil)
	for i := 0; i < n; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readRow(r, raw, values, i); err != nil {
			return err
		}
		rowRoots[i] = tree.Root(chunkHashes(leaves[:0], raw))
		if badRow >= 0 {
			continue // without the right root there is no fraud proof
		}
		deriveLine(a, &h.Seed, sideA, uint32(i))
		if dotEntries(values, x) != dotBytes(a, y) {
			badRow, badValues = i, append(badValues, values...)
		}
	}
	if productRoot(rowRoots) != h.Root {
		return ErrRoot
	}
	if badRow < 0 {
		return nil
	}
	col, want, wrong := findWrong(&h.Seed, badRow, badValues)
	if !wrong {
		// Impossible: a right row satisfies the identity for every x.
		return fmt.Errorf("%w: row %d fails its check, but no entry differs", ErrWrongProduct, badRow)
	}
	return &WrongEntryError{
		Row: badRow, Col: col, Got: badValues[col], Want: want,
		Opening: openChunk(rowRoots, badValues, badRow, col/ChunkEntries),
	}
}

// timesB returns B·x.
func timesB(ctx context.Context, seed *Seed, x halves) (halves, error) {
	n := len(x.lo)
	sums, column := newHalves(n), make([]int8, n)
	for j := 0; j < n; j++ {
		if j%ChunkEntries == 0 {
			if err := ctx.Err(); err != nil {
				return halves{}, err
			}
		}
		deriveLine(column, seed, sideB, uint32(j))
		addScaled(sums, column, x.lo[j], x.hi[j])
	}
	for k := 0; k < n; k++ {
		sums.set(k, joinSums(sums.lo[k], sums.hi[k]))
	}
	return sums, nil
}
