package cli_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

type printedForVault struct {
	Vault, Kind          string
	Message, Transaction struct{ Base58, Base64 string }
	ComputeUnits         uint64
	Untried              string
	Instructions         []struct {
		Program, Data string
		Accounts      []struct {
			Address          string
			Signer, Writable bool
		}
	}
}

// The transaction of a governance command for a vault, which is an address without a key, is the one that a wallet would
// send: the same instruction with the vault in the wallet's place, and nothing else. It does what it should when the vault
// executes it: the engine takes it where it does not ask for signatures, and the program accepts the vault as its authority.
func TestGovernanceAsAVault(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	w.InitMarket(params)
	squads := solana.MustPublicKeyFromBase58("SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf")
	vault, _, err := solana.FindProgramAddress([][]byte{[]byte("multisig"), make([]byte, 32), []byte("vault"), {0}}, squads)
	require.NoError(t, err)
	require.False(t, solana.IsOnCurve(vault[:]), "nobody has its key")
	s := newShell(t, w, w.Authority)
	noKey := shell{t: t, args: []string{"--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--keypair", "/nowhere.json", "--yes"}}

	print := func(kind string, args ...string) printedForVault {
		var got printedForVault
		noKey.ok(&got, append([]string{"market"}, append(args, "--as-vault", vault.String())...)...)
		require.Equal(t, vault.String(), got.Vault)
		require.Equal(t, kind, got.Kind)
		raw, err := base64.StdEncoding.DecodeString(got.Transaction.Base64)
		require.NoError(t, err)
		tx, err := solana.TransactionFromDecoder(bin.NewBinDecoder(raw))
		require.NoError(t, err)
		require.Equal(t, solana.PublicKeySlice{vault}, tx.Message.Signers())
		require.Equal(t, []solana.Signature{{}}, tx.Signatures, "it is not signed")
		message, err := tx.Message.MarshalBinary()
		require.NoError(t, err)
		for text, want := range map[string][]byte{got.Message.Base58: message, got.Transaction.Base58: raw} {
			require.Equal(t, want, []byte(decode58(t, text)))
		}
		require.Equal(t, base64.StdEncoding.EncodeToString(message), got.Message.Base64)
		require.Len(t, got.Instructions, 1)
		require.Len(t, tx.Message.Instructions, 1)
		require.Equal(t, market.ProgramID.String(), got.Instructions[0].Program)
		require.Equal(t, []byte(tx.Message.Instructions[0].Data), []byte(decode58(t, got.Instructions[0].Data)))
		return got
	}
	execute := func(p printedForVault) *market.Market { return executeAsVault(t, w, p) }

	noKey.fails(cli.ExitRefused, "nothing is proposed", "market", "roles", "apply", "--as-vault", vault.String())
	s.ok(nil, "market", "roles", "propose", "--authority", vault.String())
	w.Until(w.Now() + int64(params.TimelockSecs))
	// A vault without SOL cannot be tried; the transaction is the same.
	got := print("market_apply_roles", "roles", "apply")
	require.NotEmpty(t, got.Untried)
	w.Fund(vault)
	got = print("market_apply_roles", "roles", "apply")
	require.Empty(t, got.Untried)
	require.NotZero(t, got.ComputeUnits)
	mk := execute(got)
	require.Equal(t, vault, mk.Authority)

	got = print("market_pause", "pause", "orders")
	require.NotZero(t, execute(got).Paused)
	got = print("market_propose_params", "propose", "--set", "fee_bps=1100")
	mk = execute(got)
	require.EqualValues(t, 1100, mk.PendingParams.FeeBps)
	require.NotZero(t, mk.PendingEta)
	got = print("market_propose_roles", "roles", "propose", "--authority", w.Authority.PublicKey().String())
	require.Equal(t, w.Authority.PublicKey(), execute(got).PendingAuthority)

	s.fails(cli.ExitRefused, "may not do this", "market", "propose", "--set", "fee_bps=1300") // the wallet governs no more
	noKey.fails(cli.ExitUsage, "is not an address", "market", "pause", "orders", "--as-vault", "vault")
	r := noKey.run(t.Context(), "market", "pause", "orders", "--as-vault", vault.String())
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "nothing was signed or sent")
	t.Logf("\n%s", r.out)
}

func decode58(t *testing.T, text string) []byte {
	var b solana.Base58
	require.NoError(t, b.UnmarshalJSON([]byte(`"`+text+`"`)))
	return b
}

// executeAsVault has the engine run a transaction without its signature, as the program sees it when the vault's own program has
// signed, and puts the market that comes out into the place of the former one.
func executeAsVault(t *testing.T, w *testmarket.Testbed, p printedForVault) *market.Market {
	t.Helper()
	var out struct {
		Value struct {
			Err      any
			Logs     []string
			Accounts []struct {
				Data []string
			}
		}
	}
	require.NoError(t, w.Client.Raw(t.Context(), &out, "simulateTransaction", p.Transaction.Base64, map[string]any{
		"encoding": "base64", "sigVerify": false, "replaceRecentBlockhash": true, "commitment": "confirmed",
		"accounts": map[string]any{"encoding": "base64", "addresses": []string{market.MarketAddress().String()}},
	}))
	require.Nil(t, out.Value.Err, out.Value.Logs)
	require.Len(t, out.Value.Accounts, 1)
	raw, err := base64.StdEncoding.DecodeString(out.Value.Accounts[0].Data[0])
	require.NoError(t, err)
	var ignored any
	require.NoError(t, w.Client.Raw(t.Context(), &ignored, "surfnet_setAccount", market.MarketAddress(), map[string]any{
		"lamports": uint64(chain.SOL), "owner": market.ProgramID.String(), "data": hex.EncodeToString(raw),
	}))
	mk, err := query.Load(t.Context(), w.Client, chain.Confirmed)
	require.NoError(t, err)
	return &mk
}
