package ptxsim_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/internal/ptxsim"
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

// The kernel multiplies rows with columns, of whole tiles and of parts of them.
func TestProductKernel(t *testing.T) {
	product := kernels(t, "product.ptx")["product"]
	for _, n := range []uint64{32, 96} {
		mem := make(flat, 2*n*n+4*n*n)
		for i := range mem[:2*n*n] {
			mem[i] = byte(rand.Uint32())
		}
		tiles := uint32((n + 63) / 64)
		require.NoError(t, product.Run(mem, ptxsim.Launch{
			Grid: [3]uint32{tiles, tiles, 1}, Block: [3]uint32{256, 1, 1}, Params: []uint64{base, base + n*n, base + 2*n*n, n, n},
		}))
		for i := range n {
			for j := range n {
				want := int32(0)
				for k := range n {
					want += int32(int8(mem[i*n+k])) * int32(int8(mem[n*n+j*n+k]))
				}
				require.Equal(t, want, int32(binary.LittleEndian.Uint32(mem[2*n*n+4*(i*n+j):])), "n = %d, entry (%d, %d)", n, i, j)
			}
		}
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
			level := make([][32]byte, width)
			for i := range level {
				level[i] = [32]byte(mem[32*(tr*width+uint64(i)):])
			}
			for i := range half {
				want := level[2*i]
				if 2*i+1 < width {
					want = sha256.Sum256(append(append([]byte{1}, level[2*i][:]...), level[2*i+1][:]...))
				}
				require.Equal(t, want, [32]byte(mem[32*(trees*width+tr*half+uint64(i)):]), "width %d tree %d node %d", width, tr, i)
			}
		}
	}
}

// What a kernel must not do, and what the interpreter does not know, is an error.
func TestFaults(t *testing.T) {
	k := kernels(t, "measure.ptx")["mixleaves"]
	require.ErrorIs(t, k.Run(make(flat, 255), line(1, base, base+256, 1)), ptxsim.ErrFault, "beyond the allocation")
	require.ErrorIs(t, k.Run(make(flat, 512), line(1, base+4, base+288, 1)), ptxsim.ErrFault, "misaligned")
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
