package cuda

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/gantry-market/gantry/attest/work/vram"
)

// batch is how many blocks are filled or digested in one launch: 2 GiB.
const batch = 1 << 15

// Fill is memory that holds the contents of a fill.
type Fill struct {
	d     *Device
	shape vram.Shape
	data  *buffer
	out   *buffer
}

// Fill computes contents. The memory stays allocated until Close.
func (d *Device) Fill(ctx context.Context, seed [32]byte, s vram.Shape) (*Fill, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	f := &Fill{d: d, shape: s}
	err := d.do(ctx, func() (err error) {
		if f.data, err = d.alloc(s.Bytes()); err != nil {
			return err
		}
		if f.out, err = d.alloc(32 * uint64(s.Blocks)); err != nil {
			return errors.Join(err, f.data.free())
		}
		k := quarters(&seed)
		err = f.pieces(ctx, func(first, count uint64) error {
			return d.launchLine("fill", count, f.data.at+first*vram.BlockSize, k[0], k[1], k[2], k[3], first, count, uint64(s.Passes))
		})
		if err != nil {
			return errors.Join(err, f.free())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// pieces launches a kernel batch by batch, waiting for each.
func (f *Fill) pieces(ctx context.Context, launch func(first, count uint64) error) error {
	for first := uint64(0); first < uint64(f.shape.Blocks); first += batch {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
		if err := launch(first, min(batch, uint64(f.shape.Blocks)-first)); err != nil {
			return err
		}
		if err := f.d.wait(); err != nil {
			return err
		}
	}
	return nil
}

// Digests digests every block under a sweep's nonce.
func (f *Fill) Digests(ctx context.Context, nonce [32]byte) ([][32]byte, error) {
	digests := make([][32]byte, f.shape.Blocks)
	err := f.d.do(ctx, func() error {
		if f.data.at == 0 {
			return ErrClosed
		}
		k := quarters(&nonce)
		err := f.pieces(ctx, func(first, count uint64) error {
			return f.d.launchLine("sweep", count, f.data.at+first*vram.BlockSize, f.out.at+32*first, k[0], k[1], k[2], k[3], first, count)
		})
		if err != nil {
			return err
		}
		return f.out.read(unsafe.Slice(&digests[0][0], 32*len(digests)), 0)
	})
	if err != nil {
		return nil, err
	}
	return digests, nil
}

func (f *Fill) free() error { return errors.Join(f.data.free(), f.out.free()) }

// Close frees the memory.
func (f *Fill) Close() error {
	err := f.d.do(context.Background(), f.free)
	if errors.Is(err, ErrClosed) {
		return nil // it went with the device
	}
	return err
}
