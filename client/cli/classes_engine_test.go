package cli_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Every class of the table can be a model: the program takes its memory, its profile, and the stake that the formula
// says; its thresholds follow from what was measured of the class, or are floors.
func TestEveryClassCanBeAModel(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	p := market.DefaultParams()
	p.TimelockSecs, p.AllowSimulated = 1, 1
	w.InitMarket(p)
	s := newShell(t, w, w.Authority)
	all := class.GPUs().Classes
	for i, g := range all {
		s.ok(nil, "market", "model", "propose", "--class", g.Name, strconv.Itoa(100+i))
	}
	for i, g := range all {
		require.Eventually(t, func() bool {
			return s.run(t.Context(), "market", "model", "apply", strconv.Itoa(100+i)).code == cli.ExitDone
		}, time.Minute, 200*time.Millisecond, "the timelock is a second")
		m, err := query.Fetch[market.Model](t.Context(), w.Client, market.ModelAddress(uint16(100+i)), w.Client.Commitment())
		require.NoError(t, err)
		require.Equal(t, g.Name, m.ModelName())
		require.Equal(t, g.MemoryMiB, m.VramMib)
		require.Equal(t, g.Profile.Format(), market.ProfileOf(m.Profile))
		operations, bandwidth := g.Thresholds()
		require.Positive(t, operations, "a machine without a GPU is of no class")
		require.Equal(t, [2]uint32{operations, bandwidth}, [2]uint32{m.MinOperations, m.MinBandwidth})
		for _, r := range market.ModelRelations(&p, &m) {
			require.True(t, r.Holds, r.Name)
		}
	}

	// Flags say otherwise, a vault may be the authority, and what is not supported is refused.
	vault := testmarket.Key(t).PublicKey().String()
	var printed printedForVault
	s.ok(&printed, "market", "model", "propose", "--class", "h200-sxm5", "--reference-price", "3.50", "--min-tops", "1200", "--as-vault", vault, "300")
	require.Equal(t, "gpu_model_propose", printed.Kind)
	require.Len(t, printed.Instructions, 1)
	s.fails(cli.ExitUsage, "AMD's MI300X is not supported yet", "market", "model", "propose", "--class", "MI300X", "301")
	s.fails(cli.ExitUsage, "AMD's MI250X is not supported yet", "market", "model", "propose", "301", "Instinct-MI250X")
	s.fails(cli.ExitUsage, `class "H100" is not unique`, "market", "model", "propose", "--class", "H100", "301")
	s.fails(cli.ExitUsage, `class "GTX-480" is not in the table`, "market", "model", "propose", "--class", "GTX-480", "301")

	r := s.run(t.Context(), "market", "classes")
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "not calibrated on hardware")
	require.Contains(t, r.out, "Not supported yet: AMD's MI210")
	t.Logf("\n%s", r.out)
}
