package ptxsim_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/internal/ptxsim"
)

// random is one allocation of random bytes; its addresses begin at base.
func random(size int) flat {
	mem := make(flat, size)
	for i := range mem {
		mem[i] = byte(rand.Uint32())
	}
	return mem
}

// The kernels derive keys of rows and first states of lanes as package measure does.
func TestFirstKernels(t *testing.T) {
	k := kernels(t, "measure.ptx")
	seed := [32]byte(random(32))
	q := quarters(seed)
	const first, count = 1<<18 - 3, 70 // beyond one block, ending inside of another
	mem := make(flat, 24*count)
	require.NoError(t, k["rowkeys"].Run(mem, line(count, base, q[0], q[1], q[2], q[3], first, count)))
	require.NoError(t, k["lanestates"].Run(mem, line(count, base+8*count, q[0], q[1], q[2], q[3], first, count)))
	for i := range uint32(count) {
		key := measure.RowKey(seed, first+i)
		require.Equal(t, key, measure.Key{K0: binary.LittleEndian.Uint32(mem[8*i:]), K1: binary.LittleEndian.Uint32(mem[8*i+4:])}, "row %d", i)
		state := measure.LaneState(seed, first+i).Bytes()
		require.Equal(t, state[:], []byte(mem[8*count+16*i:][:16]), "lane %d", i)
	}
}

func TestRowsKernel(t *testing.T) {
	k := kernels(t, "measure.ptx")["rows"]
	for shift, n := range map[uint64]int{6: 1024, 10: 16384} {
		const count = 3
		mem := append(random(32), make([]byte, count*n)...)
		threads := uint64(count * n / 16)
		require.NoError(t, k.Run(mem, line(threads, base, base+32, shift, threads)))
		row := make([]int8, n)
		for i := range count {
			measure.Key{K0: binary.LittleEndian.Uint32(mem[8*i:]), K1: binary.LittleEndian.Uint32(mem[8*i+4:])}.Expand(row)
			for j, want := range row {
				require.Equal(t, want, int8(mem[32+i*n+j]), "order %d, row %d, entry %d", n, i, j)
			}
		}
	}
}

func TestCellsKernels(t *testing.T) {
	k := kernels(t, "measure.ptx")
	for fold, name := range map[int]string{2: "cells2", 4: "cells4"} {
		const count = 3 * 2048
		mem := append(random(4*count), make([]byte, 2*count)...)
		for i, extreme := range []uint32{0, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 28, 0xF0000000} {
			binary.LittleEndian.PutUint32(mem[4*i:], extreme)
		}
		require.NoError(t, k[name].Run(mem, ptxsim.Launch{
			Grid: [3]uint32{3, 1, 1}, Block: [3]uint32{128, 1, 1}, Params: []uint64{base, base + 4*count, base + 5*count},
		}))
		group := make([]int32, fold)
		for i := range count {
			c := int32(binary.LittleEndian.Uint32(mem[4*i:]))
			require.Equal(t, measure.Kept(c), mem[4*count+i], "fold %d, entry %d", fold, i)
			if group[i%fold] = c; i%fold == fold-1 {
				require.Equal(t, measure.Mixed(group), mem[5*count+i/fold], "fold %d, group %d", fold, i/fold)
			}
		}
		require.Equal(t, make([]byte, count-count/fold), []byte(mem[5*count+count/fold:]), "fold %d wrote beyond its bytes", fold)
	}
}

func TestTreeKernels(t *testing.T) {
	k := kernels(t, "measure.ptx")
	mem := random(2*256 + 2*32)
	require.NoError(t, k["mixleaves"].Run(mem, line(2, base, base+512, 2)))
	for i := range 2 {
		require.Equal(t, measure.LeafHash((*[256]byte)(mem[256*i:])), measure.Hash(mem[512+32*i:]))
	}

	const count = 3
	mem = random(2 * 32 * count)
	var want []measure.Hash
	for i := range count {
		want = append(want, measure.Node(measure.Hash(mem[32*i:]), measure.Hash(mem[32*(count+i):])))
	}
	require.NoError(t, k["join"].Run(mem, line(count, base, base+32*count, base+32*count, count)))
	padding := [32]byte(random(32))
	q := quarters(padding)
	for i := range count {
		require.Equal(t, want[i], measure.Hash(mem[32*(count+i):]), "joined in place")
		want[i] = measure.Node(measure.Hash(mem[32*i:]), padding)
	}
	require.NoError(t, k["pad"].Run(mem, line(count, base, base, q[0], q[1], q[2], q[3], count)))
	for i := range count {
		require.Equal(t, want[i], measure.Hash(mem[32*i:]), "padded in place")
	}
}

// Walks of lanes, one at a time and again, go where package measure's go. The number of items is no power of two.
func TestWalkKernels(t *testing.T) {
	k := kernels(t, "measure.ptx")
	const items, lanes, walks = 77, 5, 3
	mem := append(random(items*128+lanes*16), make([]byte, lanes*32+4*16+4*16*walks)...)
	states := uint64(items * 128)
	leaves, again := states+16*lanes, states+48*lanes
	state := make([]measure.State, lanes)
	for l := range state {
		state[l] = decode(mem[states+16*uint64(l):])
	}
	chosen := []uint64{4, 1, 3, 0}
	for i, l := range chosen {
		copy(mem[again+16*uint64(i):], mem[states+16*l:][:16])
	}
	for walk := range uint64(walks) {
		require.NoError(t, k["walk"].Run(mem, line(lanes, base, items, base+states, base+leaves, walk, lanes)))
		for l := range uint64(lanes) {
			start := state[l]
			s := start.Begin(uint32(l), uint32(walk))
			for range measure.WalkSteps {
				s = s.Step((*[128]byte)(mem[128*s.Item(items):]))
			}
			state[l] = s
			require.Equal(t, s, decode(mem[states+16*l:]), "lane %d, walk %d", l, walk)
			require.Equal(t, measure.WalkHash(start, s), measure.Hash(mem[leaves+32*l:]), "lane %d, walk %d", l, walk)
		}
	}
	require.NoError(t, k["trace"].Run(mem, line(4, base, items, base+again, base+again+64, chosen[0], chosen[1], chosen[2], chosen[3], walks, 4)))
	for i, l := range chosen {
		require.Equal(t, state[l], decode(mem[again+64+uint64(16*(i*walks+walks-1)):]), "lane %d again", l)
	}
}

func decode(b []byte) measure.State {
	return measure.State{S0: binary.LittleEndian.Uint64(b), S1: binary.LittleEndian.Uint64(b[8:])}
}

// A product of fewer rows than columns.
func TestProductKernelOfAStripe(t *testing.T) {
	const n, rows = 96, 40
	mem := append(random(rows*n+n*n), make([]byte, 4*rows*n+64)...)
	require.NoError(t, kernels(t, "product.ptx")["product"].Run(mem, ptxsim.Launch{
		Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{256, 1, 1}, Params: []uint64{base, base + rows*n, base + rows*n + n*n, n, rows},
	}))
	for i := range rows {
		for j := range n {
			var want int32
			for l := range n {
				want += int32(int8(mem[i*n+l])) * int32(int8(mem[rows*n+j*n+l]))
			}
			require.Equal(t, want, int32(binary.LittleEndian.Uint32(mem[rows*n+n*n+4*(i*n+j):])))
		}
	}
	require.Equal(t, make([]byte, 64), []byte(mem[len(mem)-64:]), "rows beyond the last")
}
