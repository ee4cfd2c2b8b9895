package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// addCall adds a call of the market whose log the node has cut.
func (l *ledger) addCall(t *testing.T, kind [8]byte, accounts ...solana.PublicKey) {
	t.Helper()
	metas := solana.AccountMetaSlice{}
	for _, a := range accounts {
		metas = append(metas, solana.Meta(a))
	}
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(market.ProgramID, metas, kind[:])}, solana.Hash{1}, solana.TransactionPayer(l.key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &l.key })
	require.NoError(t, err)
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.txs = append(l.txs, landed{tx.Signatures[0], raw, "Log truncated", chain.Finalized})
}

// What the cluster's node does not show makes an audit neither right nor wrong, and the answer says so.
func TestAnAuditOfWhatTheNodeDoesNotShowIsUnknown(t *testing.T) {
	node := newRPCNode(t)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.srv.URL(), WS: node.srv.WS()}}, Commitment: chain.Confirmed, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	domain, err := c.Domain(t.Context())
	require.NoError(t, err)
	node.accounts[market.ProgramID] = encoded(solana.BPFLoaderUpgradeableProgramID, nil)
	node.put(t, market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: market.LayoutVersion, Domain: domain})
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	order, machine := benchKey("order", 0), benchKey("node", 0)
	lease := market.LeaseAddress(order, machine)
	x := func(i int) solana.PublicKey { return benchKey("other", i) }
	l := &ledger{key: key, node: machine}
	l.serve(node.srv)
	s := New(Options{Service: service.New(c, zerolog.Nop()), Store: testStore(t), Customer: benchCustomer, Session: solana.PublicKey{2}, Log: zerolog.Nop()})
	token, err := s.o.Store.NewToken()
	require.NoError(t, err)
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, http.StatusNotFound, get("/v1/audit/"+lease.String()).Code, "nothing names it")

	l.addCall(t, bindings.Instruction_OrderAward, x(0), x(1), x(2), order, x(3), machine, x(4), x(5), lease)
	l.addCall(t, bindings.Instruction_LeaseClose, x(0), lease, order)
	w := get("/v1/audit/" + lease.String())
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var a service.Audit
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	require.Equal(t, "unknown", a.Outcome)
	require.False(t, a.OK)
	require.False(t, a.Open)
	require.NotEmpty(t, a.Steps)
	for _, st := range a.Steps {
		require.Empty(t, st.Problems)
		require.Equal(t, "unknown", st.Outcome, st.Name)
	}
	require.Contains(t, a.Steps[len(a.Steps)-1].Text, "not known")

	// A fault that may have been opened is not said to be none.
	l.addCall(t, bindings.Instruction_FaultOpen, machine, lease)
	w = get("/v1/slashes/" + machine.String())
	require.Equal(t, http.StatusBadGateway, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), "it is not known whether")
}
