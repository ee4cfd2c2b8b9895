package serve

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// ledger is what an RPC node has of one account's transactions, each of which awards a lease to it.
type ledger struct {
	key  solana.PrivateKey
	node solana.PublicKey

	mu  sync.Mutex
	txs []landed // the oldest first
}

type landed struct {
	sig solana.Signature
	raw []byte
	log string
	at  chain.Commitment
}

// add adds a transaction that a commitment level has.
func (l *ledger) add(t *testing.T, at chain.Commitment) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(
		market.ProgramID, solana.AccountMetaSlice{solana.Meta(l.node).WRITE()}, []byte{byte(len(l.txs)), byte(len(l.txs) >> 8)},
	)}, solana.Hash{1}, solana.TransactionPayer(l.key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &l.key })
	require.NoError(t, err)
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	event, err := bindings.LeaseAwarded{Lease: benchKey("lease", len(l.txs)), Node: l.node}.Marshal()
	require.NoError(t, err)
	l.txs = append(l.txs, landed{tx.Signatures[0], raw, "Program data: " + base64.StdEncoding.EncodeToString(append(bindings.Event_LeaseAwarded[:], event...)), at})
}

// serve makes an RPC node answer with the transactions.
func (l *ledger) serve(s *fakerpc.Server) {
	s.Handle("getSignaturesForAddress", func([]json.RawMessage) (any, *fakerpc.Error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		out := []map[string]any{}
		for i := len(l.txs) - 1; i >= 0; i-- {
			out = append(out, map[string]any{"signature": l.txs[i].sig, "slot": i + 1, "err": nil, "blockTime": 1_800_000_000 + i, "confirmationStatus": l.txs[i].at})
		}
		return out, nil
	})
	s.Handle("getTransaction", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var sig solana.Signature
		_ = json.Unmarshal(p[0], &sig)
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, x := range l.txs {
			if x.sig == sig {
				id := market.ProgramID.String()
				return map[string]any{
					"slot": i + 1, "blockTime": 1_800_000_000 + i, "transaction": []string{base64.StdEncoding.EncodeToString(x.raw), "base64"},
					"meta": map[string]any{"err": nil, "fee": 5000, "logMessages": []string{"Program " + id + " invoke [1]", x.log, "Program " + id + " success"}, "computeUnitsConsumed": 3},
				}, nil
			}
		}
		return nil, nil
	})
}

// A machine's record reads each finalised transaction once, however often it is asked for; new ones are seen, and those
// that may still be undone are read each time.
func TestTheRecordOfAMachineReadsNoTransactionAgain(t *testing.T) {
	node := newRPCNode(t)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.srv.URL(), WS: node.srv.WS()}}, Commitment: chain.Confirmed, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	domain, err := c.Domain(t.Context())
	require.NoError(t, err)
	address, provider := benchKey("node", 0), benchKey("provider", 0)
	node.accounts[market.ProgramID] = encoded(solana.BPFLoaderUpgradeableProgramID, nil)
	node.put(t, market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: market.LayoutVersion, Domain: domain})
	node.put(t, provider, bindings.Account_Provider, bindings.Provider{Version: market.LayoutVersion, Wallet: benchKey("wallet", 0)})
	node.put(t, address, bindings.Account_Node, bindings.Node{Version: market.LayoutVersion, Provider: provider, Status: uint8(market.NodeActive)})
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	l := &ledger{key: key, node: address}
	for range 298 {
		l.add(t, chain.Finalized)
	}
	l.serve(node.srv)
	s := New(Options{Service: service.New(c, zerolog.Nop()), Store: testStore(t), Customer: benchCustomer, Session: solana.PublicKey{2}, Log: zerolog.Nop()})
	token, err := s.o.Store.NewToken()
	require.NoError(t, err)

	read := func(awards int) (transactions int) {
		t.Helper()
		before := node.srv.Calls("getTransaction")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/nodes/"+address.String(), nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		var m service.MachineRecord
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &m))
		require.Equal(t, awards, m.History.Awards)
		require.Zero(t, m.History.Unreadable)
		return node.srv.Calls("getTransaction") - before
	}
	require.Equal(t, 298, read(298))
	require.Zero(t, read(298))
	l.add(t, chain.Finalized)
	require.Equal(t, 1, read(299), "the new one alone")
	l.add(t, chain.Confirmed)
	require.Equal(t, 1, read(300))
	require.Equal(t, 1, read(300), "what is not final is read again")
	l.mu.Lock()
	l.txs = l.txs[:299] // the cluster has dropped its block
	l.mu.Unlock()
	require.Zero(t, read(299))
}
