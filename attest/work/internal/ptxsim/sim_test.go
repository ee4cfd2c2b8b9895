package ptxsim_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/internal/ptxsim"
	"github.com/gantry-market/gantry/attest/work/internal/tree"
	"github.com/gantry-market/gantry/attest/work/vram"
)

const base = 0x7f0000000000

// flat is one allocation.
type flat []byte

func (f flat) At(address uint64, size int) []byte {
	at := address - base
	if address < base || at > uint64(len(f)) || uint64(len(f))-at < uint64(size) {
		return nil
	}
	return f[at : at+uint64(size)]
}

func kernels(t testing.TB, file string) map[string]*ptxsim.Kernel {
	t.Helper()
	text, err := os.ReadFile("../../cuda/ptx/" + file)
	require.NoError(t, err)
	k, err := ptxsim.Parse(string(text))
	require.NoError(t, err)
	return k
}

func line(threads uint64, params ...uint64) ptxsim.Launch {
	return ptxsim.Launch{Grid: [3]uint32{uint32((threads + 63) / 64), 1, 1}, Block: [3]uint32{64, 1, 1}, Params: params}
}

func quarters(b [32]byte) []uint64 {
	var out []uint64
	for i := 0; i < 32; i += 8 {
		out = append(out, binary.LittleEndian.Uint64(b[i:]))
	}
	return out
}

// The kernels compute a product and its root exactly as package work does.
func TestProductKernels(t *testing.T) {
	product, hashes := kernels(t, "product.ptx"), kernels(t, "sha256.ptx")
	for _, n := range []uint64{32, 96} {
		var seed work.Seed
		for i := range seed {
			seed[i] = byte(rand.Uint32())
		}
		want, err := work.CPU{Workers: 1}.Prove(t.Context(), seed, int(n))
		require.NoError(t, err)

		mem := make(flat, 2*n*n+4*n*n+2*n*n+2*n*n)
		factors, c, nodes, other := uint64(base), base+2*n*n, base+6*n*n, base+8*n*n
		q := quarters(seed)
		threads := 2 * n * n / 32
		require.NoError(t, hashes["expand"].Run(mem, line(threads, factors, q[0], q[1], q[2], q[3], n, threads)))
		tiles := uint32((n + 63) / 64)
		require.NoError(t, product["product"].Run(mem, ptxsim.Launch{
			Grid: [3]uint32{tiles, tiles, 1}, Block: [3]uint32{256, 1, 1}, Params: []uint64{factors, factors + n*n, c, n, n},
		}))
		for i, v := range want.C {
			require.Equal(t, v, int32(binary.LittleEndian.Uint32(mem[2*n*n+4*uint64(i):])), "n = %d, entry %d", n, i)
		}
		chunks := n * n / 32
		require.NoError(t, hashes["leaves"].Run(mem, line(chunks, c, nodes, chunks)))
		for width, trees := n/32, n; width > 1 || trees > 1; width = (width + 1) / 2 {
			if width == 1 {
				width, trees = trees, 1
			}
			count := trees * ((width + 1) / 2)
			require.NoError(t, hashes["pairs"].Run(mem, line(count, nodes, other, width, count)))
			nodes, other = other, nodes
		}
		require.Equal(t, want.Root, [32]byte(mem[nodes-base:]), "n = %d", n)
	}
}

// Extreme factors: the sign of every byte counts.
func TestProductKernelAtItsBounds(t *testing.T) {
	const n = 32
	product := kernels(t, "product.ptx")["product"]
	for _, c := range []struct {
		a, b int8
		want int32
	}{{-128, -128, n << 14}, {-128, 127, -n * 128 * 127}, {127, 127, n * 127 * 127}, {-1, 1, -n}} {
		mem := make(flat, 2*n*n+4*n*n)
		for i := range n * n {
			mem[i], mem[n*n+i] = byte(c.a), byte(c.b)
		}
		require.NoError(t, product.Run(mem, ptxsim.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{256, 1, 1}, Params: []uint64{base, base + n*n, base + 2*n*n, n, n}}))
		for i := range n * n {
			require.Equal(t, c.want, int32(binary.LittleEndian.Uint32(mem[2*n*n+4*i:])))
		}
	}
}

func TestPairsOfAllWidths(t *testing.T) {
	pairs := kernels(t, "sha256.ptx")["pairs"]
	for width := uint64(2); width <= 9; width++ {
		const trees = 3
		mem := make(flat, 2*32*trees*width)
		for i := range mem[:32*trees*width] {
			mem[i] = byte(rand.Uint32())
		}
		half := (width + 1) / 2
		require.NoError(t, pairs.Run(mem, line(trees*half, base, base+32*trees*width, width, trees*half)))
		for tr := range uint64(trees) {
			level := make([]tree.Hash, width)
			for i := range level {
				level[i] = [32]byte(mem[32*(tr*width+uint64(i)):])
			}
			for i, want := range tree.Fold(level) {
				require.Equal(t, want, [32]byte(mem[32*(trees*width+tr*half+uint64(i)):]), "width %d tree %d node %d", width, tr, i)
			}
		}
	}
}

func TestLeaves(t *testing.T) {
	mem := make(flat, 128+32)
	for i := range 128 {
		mem[i] = byte(rand.Uint32())
	}
	require.NoError(t, kernels(t, "sha256.ptx")["leaves"].Run(mem, line(1, base, base+128, 1)))
	require.Equal(t, sha256.Sum256(append([]byte{0}, mem[:128]...)), [32]byte(mem[128:]))
}

// The kernels fill memory and sweep it exactly as package vram does.
func TestMemoryKernels(t *testing.T) {
	k := kernels(t, "vram.ptx")
	seed, nonce := [32]byte{1, 2, 3, 250}, [32]byte{4, 5, 6, 251}
	const first, count, passes = 1<<23 + 5, 1, 2
	mem := make(flat, count*vram.BlockSize+32*count)
	q := quarters(seed)
	require.NoError(t, k["fill"].Run(mem, line(count, base, q[0], q[1], q[2], q[3], first, count, passes)))
	q = quarters(nonce)
	require.NoError(t, k["sweep"].Run(mem, line(count, base, base+count*vram.BlockSize, q[0], q[1], q[2], q[3], first, count)))
	for i := range count {
		want, err := vram.Block(seed, first+uint32(i), passes)
		require.NoError(t, err)
		require.Equal(t, want, []byte(mem[i*vram.BlockSize:(i+1)*vram.BlockSize]))
		d, err := vram.Digest(want, nonce, first+uint32(i))
		require.NoError(t, err)
		require.Equal(t, d, [32]byte(mem[count*vram.BlockSize+32*i:]))
	}
}

// What a kernel must not do, and what the interpreter does not know, is an error.
func TestFaults(t *testing.T) {
	k := kernels(t, "sha256.ptx")["leaves"]
	require.ErrorIs(t, k.Run(make(flat, 127), line(1, base, base+128, 1)), ptxsim.ErrFault, "beyond the allocation")
	require.ErrorIs(t, k.Run(make(flat, 512), line(1, base+4, base+256, 1)), ptxsim.ErrFault, "misaligned")
	require.ErrorIs(t, k.Run(make(flat, 512), line(1, base)), ptxsim.ErrFault, "parameters")
	for _, text := range []string{
		".visible .entry k(\n)\n{\n\tfma.rn.f32 %a, %b;\n}",
		".visible .entry k(\n)\n{\n\tbra NOWHERE;\n}",
		"mov.u32 %a, 1;",
		".visible .entry k(\n)\n{\n\tmov.u32 %a, ?;\n}",
	} {
		_, err := ptxsim.Parse(text)
		require.ErrorIs(t, err, ptxsim.ErrUnsupported, text)
	}
	loop, err := ptxsim.Parse(".visible .entry k(\n)\n{\n\t.reg .b32 %a;\n\t.reg .pred %p;\n\tmov.u32 %a, %tid.x;\n\tsetp.eq.u32 %p, %a, 0;\n\t@%p ret;\n\tbar.sync 0;\n\tret;\n}")
	require.NoError(t, err)
	require.ErrorIs(t, loop["k"].Run(flat{}, line(2)), ptxsim.ErrFault, "a barrier that some threads have left")
}
