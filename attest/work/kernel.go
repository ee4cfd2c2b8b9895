package work

import (
	"context"
	"sync"
	"sync/atomic"
)

// The product in plain Go. One 64-bit multiplication does two int8 products: a pair of columns is stored as b₀ +
// b₁·2³², so a·pair sums both columns at once. The low sum is within ±2²⁶, so it never disturbs the high one by more
// than a borrow, which reading it as int32 and subtracting undoes.

// tilePairs column pairs are kept hot while all rows pass over them: 32 pairs of 4096 entries are 1 MiB, of 1024
// entries 256 KiB.
const tilePairs = 32

// multiply computes the product with the given number of goroutines. It returns ctx.Err() soon after ctx ends.
func multiply(ctx context.Context, seed *Seed, n, workers int) ([]int32, error) {
	a := make([]int8, n*n)
	if err := parallel(ctx, n, workers, func(i int) {
		deriveLine(a[i*n:(i+1)*n], seed, sideA, uint32(i))
	}); err != nil {
		return nil, err
	}
	c := make([]int32, n*n)
	pairs := n / 2
	tiles := (pairs + tilePairs - 1) / tilePairs
	var pool sync.Pool
	err := parallel(ctx, tiles, workers, func(t int) {
		first := t * tilePairs
		count := min(tilePairs, pairs-first)
		buf, _ := pool.Get().(*tileBuffer)
		if buf == nil {
			buf = &tileBuffer{packed: make([]int64, tilePairs*n), column: make([]int8, 2*n)}
		}
		packTile(buf, seed, n, first, count)
		for i := 0; i < n; i += 2 {
			if i%64 == 0 && ctx.Err() != nil {
				return
			}
			multiplyRows(c, a, buf.packed, n, i, first, count)
		}
		pool.Put(buf)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

type tileBuffer struct {
	packed []int64
	column []int8
}

// packTile derives count column pairs from pair number first on.
func packTile(buf *tileBuffer, seed *Seed, n, first, count int) {
	left, right := buf.column[:n], buf.column[n:]
	for q := 0; q < count; q++ {
		j := uint32(2 * (first + q))
		deriveLine(left, seed, sideB, j)
		deriveLine(right, seed, sideB, j+1)
		dst := buf.packed[q*n : (q+1)*n]
		for k := range dst {
			dst[k] = int64(left[k]) + int64(right[k])<<32
		}
	}
}

// multiplyRows computes rows i and i+1 against a tile. count is even: n is a multiple of 32, so there are a multiple of
// 16 pairs.
func multiplyRows(c []int32, a []int8, packed []int64, n, i, first, count int) {
	a0, a1 := a[i*n:(i+1)*n], a[(i+1)*n:(i+2)*n]
	c0, c1 := c[i*n:(i+1)*n], c[(i+1)*n:(i+2)*n]
	for q := 0; q < count; q += 2 {
		s00, s01, s10, s11 := dotPairs(a0, a1, packed[q*n:(q+1)*n], packed[(q+1)*n:(q+2)*n])
		j := 2 * (first + q)
		c0[j], c0[j+1] = unpack(s00)
		c0[j+2], c0[j+3] = unpack(s01)
		c1[j], c1[j+1] = unpack(s10)
		c1[j+2], c1[j+3] = unpack(s11)
	}
}

func dotPairs(a0, a1 []int8, p0, p1 []int64) (s00, s01, s10, s11 int64) {
	a1, p0, p1 = a1[:len(a0)], p0[:len(a0)], p1[:len(a0)]
	for k := range a0 {
		u, v := int64(a0[k]), int64(a1[k])
		x, y := p0[k], p1[k]
		s00 += u * x
		s01 += u * y
		s10 += v * x
		s11 += v * y
	}
	return
}

func unpack(s int64) (lo, hi int32) {
	lo = int32(s)
	return lo, int32((s - int64(lo)) >> 32)
}

// parallel calls f(0) … f(count−1) from up to workers goroutines and waits for all of them. It stops handing out work
// when ctx ends.
func parallel(ctx context.Context, count, workers int, f func(int)) error {
	workers = max(1, min(workers, count))
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				f(i)
			}
		}()
	}
	wg.Wait()
	return ctx.Err()
}
