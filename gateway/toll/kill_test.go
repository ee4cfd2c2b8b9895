package toll

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// asRelay has this program open the book at the path and relay to its output until it is killed.
const asRelay = "GANTRY_TOLL_TEST_RELAY"

func TestMain(m *testing.M) {
	if path := os.Getenv(asRelay); path != "" {
		relay(path)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func relayOptions(path string) Options {
	return Options{Path: path, Domain: domain, Gateway: gateway, Price: 50_000, Free: 3 << 20, Mint: mint, Payee: payee, Transaction: ledger{}.read}
}

// relay writes what the toll lets pass, and not a byte more.
func relay(path string) {
	b, err := Open(relayOptions(path))
	if err != nil {
		return
	}
	piece := make([]byte, 48<<10)
	a := b.Account(key(50), key(1))
	for {
		n, err := a.Take(len(piece))
		if _, werr := os.Stdout.Write(piece[:n]); err != nil || werr != nil {
			return
		}
	}
}

// TestAKilledGatewayHasWrittenWhatItRelayed kills a relay at many places: what came through was charged before, and what was
// charged and did not come is at most one chunk.
func TestAKilledGatewayHasWrittenWhatItRelayed(t *testing.T) {
	b := newBook(t, ledger{sigOf(1): landed(pays(key(1), 9, 50_000))}, func(o *Options) { o.Free = 3 << 20 })
	path := b.o.Path
	_, err := b.Pay(t.Context(), key(1), 9, sigOf(1))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	self, err := os.Executable()
	require.NoError(t, err)
	var before uint64
	for _, after := range []int64{0, 1, 3 << 20, Chunk - 1, Chunk, 3*Chunk + 5} {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), asRelay+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		came, err := io.CopyN(io.Discard, out, after)
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		rest, err := io.Copy(io.Discard, out) // what it had written before it died
		require.NoError(t, err)
		require.Error(t, cmd.Wait())

		b, err := Open(relayOptions(path))
		require.NoError(t, err)
		free, paid, err := b.Left(key(50), key(1))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		charged := 3<<20 + GiB - free - paid
		relayed := uint64(came + rest)
		require.GreaterOrEqual(t, charged-before, relayed, "all that was relayed was charged")
		require.LessOrEqual(t, charged-before, relayed+Chunk, "at most one chunk was charged and not relayed")
		before = charged
	}
}
