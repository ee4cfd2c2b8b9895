package serve

import (
	"context"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/sponsor/desk"
)

// frozen is a chain on which no transaction changes anything.
type frozen struct{}

func (frozen) Accounts(_ context.Context, keys []solana.PublicKey, _ chain.Commitment) ([]*chain.Account, error) {
	return make([]*chain.Account, len(keys)), nil
}

func (frozen) Simulate(_ context.Context, _ *solana.Transaction, o chain.SimulateOptions) (chain.Simulation, error) {
	return chain.Simulation{Accounts: make([]*chain.AccountAfter, len(o.Accounts))}, nil
}

func (frozen) MinimumRent(context.Context, uint64, chain.Commitment) (chain.Lamports, error) {
	return 1, nil
}

// A sponsor pays for deployers, each within its own limit. An owner's limit is each wallet's. Clients of Kora send their token in
// x-api-key, which opens nothing else.
func TestWhoIsSponsored(t *testing.T) {
	s, _, token, _ := teamServer(t)
	own, err := s.o.Store.NewToken()
	require.NoError(t, err)
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	book, err := desk.OpenBook(filepath.Join(t.TempDir(), "book.db"), key.PublicKey())
	require.NoError(t, err)
	t.Cleanup(func() { _ = book.Close() })
	o := s.o
	o.Sponsor = desk.New(desk.Options{Key: key, Chain: frozen{}, Book: book, Limits: desk.Limits{Caller: 10_000, Total: 30_000}, MaxFee: 10_000, Now: time.Now})
	s = New(o)
	wallet := solana.NewWallet().PublicKey()
	pay := solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{solana.Meta(wallet).SIGNER()}, []byte{3})
	tx, err := solana.NewTransaction([]solana.Instruction{pay}, solana.Hash{1}, solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	tx.Signatures = make([]solana.Signature, 2)
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	body := `{"jsonrpc":"2.0","id":1,"method":"signTransaction","params":{"transaction":"` + base64.StdEncoding.EncodeToString(raw) + `"}}`
	says := func(status int, header map[string]string) string {
		t.Helper()
		w, _ := ask(t, s, http.MethodPost, SponsorPath, body, header)
		require.Equal(t, status, w.Code, w.Body.String())
		return w.Body.String()
	}
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	require.Contains(t, says(http.StatusUnauthorized, nil), "has no token")
	require.Contains(t, says(http.StatusUnauthorized, bearer("gantry_stranger")), "not one of this server")
	require.Contains(t, says(http.StatusUnauthorized, map[string]string{apiKey: "stranger"}), "not one of this server")
	require.Contains(t, says(http.StatusForbidden, bearer(token("vic", team.Viewer, ""))), "needs a deployer")

	dan := token("dan", team.Deployer, "ops")
	require.Contains(t, says(http.StatusOK, map[string]string{apiKey: dan}), "signed_transaction")
	require.Contains(t, says(http.StatusOK, bearer(dan)), "dan may cost the sponsor")
	require.Contains(t, says(http.StatusOK, bearer(own)), "signed_transaction")
	require.Contains(t, says(http.StatusOK, bearer(own)), "wallet "+wallet.String()+" may cost the sponsor")
	w, _ := ask(t, s, http.MethodGet, "/v1/budgets", "", map[string]string{apiKey: own})
	require.Equal(t, http.StatusUnauthorized, w.Code, "the header counts for the sponsor alone")

	// A server without a sponsor has nothing there.
	o.Sponsor = nil
	w, _ = ask(t, New(o), http.MethodPost, SponsorPath, body, bearer(own))
	require.Equal(t, http.StatusNotFound, w.Code)
	require.Nil(t, SponsorAt(nil, "http://x"))
	require.Equal(t, "http://x/sponsor", SponsorAt(desk.New(desk.Options{Key: key}), "http://x").URL)
}
