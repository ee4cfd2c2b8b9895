package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// answering is a Solana node that knows two accounts: the program and the market.
func answering(t *testing.T, program, account any) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     any
			Method string
			Params []json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var result any
		switch req.Method {
		case "getMultipleAccounts":
			var asked []string
			if json.Unmarshal(req.Params[0], &asked) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			value := make([]any, len(asked))
			for i, address := range asked {
				if value[i] = account; address == market.ProgramID.String() {
					value[i] = program
				}
			}
			result = map[string]any{"context": map[string]any{"slot": 1}, "value": value}
		case "getGenesisHash":
			result = "11111111111111111111111111111112"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestOtherPrograms(t *testing.T) {
	program := map[string]any{"lamports": 1, "owner": "BPFLoaderUpgradeab1e11111111111111111111111", "data": []string{"", "base64"}, "executable": true}
	stored := func(change func(*bindings.Market)) []byte {
		m := bindings.Market{Version: market.LayoutVersion}
		change(&m)
		body, err := m.Marshal()
		require.NoError(t, err)
		return append(bindings.Account_Market[:], body...)
	}
	plain := stored(func(*bindings.Market) {})
	account := func(owner string, change func([]byte) []byte) any {
		data := bytes.Clone(plain)
		return map[string]any{"lamports": 1, "owner": owner, "data": []string{base64.StdEncoding.EncodeToString(change(data)), "base64"}}
	}
	id := market.ProgramID.String()
	same := func(b []byte) []byte { return b }
	for name, c := range map[string]struct {
		program, account any
		text             string
	}{
		"no program": {nil, nil, "error: the market program " + id + " is not deployed on this cluster\n       check --url\n"},
		"no market":  {program, nil, "error: the market program is there, but no market has been initialised\n       check --url; the program's upgrade authority creates one with `gantry market init`\n"},
		"later version": {program, account(id, func([]byte) []byte {
			return stored(func(m *bindings.Market) { m.Version = market.LayoutVersion + 1 })
		}), "error: the market program is of another version than this client\n       update gantry to the version of the market's program\n"},
		"other layout":  {program, account(id, func(b []byte) []byte { return append(b, 0) }), "error: the market program is of another version than this client\n       update gantry to the version of the market's program\n"},
		"other account": {program, account(id, func(b []byte) []byte { b[0]++; return b }), "error: the market program is of another version than this client\n       update gantry to the version of the market's program\n"},
		"other owner":   {program, account("11111111111111111111111111111111", same), "error: the market program is of another version than this client\n       update gantry to the version of the market's program\n"},
		"another cluster": {program, account(id, func([]byte) []byte {
			return stored(func(m *bindings.Market) { m.Domain[0] = 9 })
		}), "error: the market was initialised for another cluster: signatures of this one would be worthless\n       check --url\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(context.Background(), Streams{Out: &out, Err: &errs}, []string{"market", "show", "--url", answering(t, c.program, c.account)})
			require.Equal(t, ExitNetwork, code, errs.String())
			require.Equal(t, c.text, errs.String())
			require.Empty(t, out.String())
		})
	}
}
