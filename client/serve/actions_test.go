package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/sdk/market"
)

// asked is what a deposit was asked for.
type asked struct {
	account solana.PublicKey
	amount  market.USDC
}

// actionServer has actions whose deposits are the bytes 1, 2, 3; err is what the next one fails with.
func actionServer(t *testing.T) (s *Server, all *[]asked, err *error) {
	t.Helper()
	base, e := solanapay.ParseBase("https://market.example/gantry")
	require.NoError(t, e)
	all, err = &[]asked{}, new(error)
	return New(Options{Public: true, Hosts: []string{"market.example"}, Log: zerolog.Nop(), Actions: &Actions{
		Base: base, Genesis: solana.MustHashFromBase58("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"),
		Deposit: func(_ context.Context, account solana.PublicKey, amount market.USDC) (wallet.Transaction, error) {
			*all = append(*all, asked{account, amount})
			return wallet.Transaction{Bytes: []byte{1, 2, 3}, Effects: []string{"Moves it.", "Opens it."}}, *err
		},
	}}), all, err
}

// act asks for an action as a page of another site does, and reads the answer.
func act(t *testing.T, s http.Handler, method, path, body string, out any) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "market.example", "192.0.2.1:5"
	r.Header.Set("Origin", "https://blinks.example")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"), "%s %s", method, path)
	require.Equal(t, "2.4", w.Header().Get("X-Action-Version"))
	require.Equal(t, "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", w.Header().Get("X-Blockchain-Ids"))
	if out != nil {
		require.Equal(t, "application/json", w.Header().Get("Content-Type"), "%s %s", method, path)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), out), w.Body.String())
	}
	return w
}

type saidWrong struct{ Message string }

// A deposit is of the account that asks and of the amount in the address. Nothing else of a request counts, and what is not a wallet or not an
// amount gets nothing.
func TestActionDeposits(t *testing.T) {
	s, all, _ := actionServer(t)
	me := solana.NewWallet().PublicKey()
	body := `{"account":"` + me.String() + `","amount":"9000","data":{"amount":"9000"}}`
	var got struct{ Type, Transaction, Message string }
	require.Equal(t, http.StatusOK, act(t, s, http.MethodPost, "/actions/credits?amount=12.50", body, &got).Code)
	require.Equal(t, []asked{{me, 12_500_000}}, *all)
	require.Equal(t, "transaction", got.Type)
	require.Equal(t, "AQID", got.Transaction)
	require.Equal(t, "Moves it. Opens it.", got.Message)

	vault, _, err := solana.FindProgramAddress([][]byte{{1}}, market.ProgramID)
	require.NoError(t, err)
	for _, c := range []struct {
		query, body string
		status      int
		says        string
	}{
		{"", body, http.StatusBadRequest, "amount"},
		{"?amount=0", body, http.StatusBadRequest, "amount"},
		{"?amount=10000.01", body, http.StatusBadRequest, "at most 10000.00"},
		{"?amount=10+USDC", body, http.StatusBadRequest, "amount"},
		{"?amount=-1", body, http.StatusBadRequest, "amount"},
		{"?amount={amount}", body, http.StatusBadRequest, "amount"},
		{"?amount=10", "", http.StatusBadRequest, "not JSON"},
		{"?amount=10", "[]", http.StatusBadRequest, "not JSON"},
		{"?amount=10", `{"account":"x"}`, http.StatusBadRequest, "not the address of a wallet"},
		{"?amount=10", `{"account":"` + solana.SystemProgramID.String() + `"}`, http.StatusBadRequest, "not the address of a wallet"},
		{"?amount=10", `{"account":"` + vault.String() + `"}`, http.StatusBadRequest, "not the address of a wallet"},
		{"?amount=10", strings.Repeat(" ", maxActionBody+1), http.StatusRequestEntityTooLarge, "too large"},
	} {
		s, all, _ := actionServer(t)
		var out saidWrong
		require.Equal(t, c.status, act(t, s, http.MethodPost, "/actions/credits"+c.query, c.body, &out).Code, "%s %s", c.query, c.body)
		require.Contains(t, out.Message, c.says)
		require.Empty(t, *all)
	}
}

// A refusal says why in the words of the specification, and no answer has the private cause of a failure.
func TestActionErrors(t *testing.T) {
	s, _, fails := actionServer(t)
	body := `{"account":"` + solana.NewWallet().PublicKey().String() + `"}`
	*fails = service.Refused("deposit refused: 10.00 USDC asked, the wallet holds 1.00\x1b[2J", "send 9.00 USDC to it first")
	var out saidWrong
	require.Equal(t, http.StatusConflict, act(t, s, http.MethodPost, "/actions/credits?amount=10", body, &out).Code)
	require.Contains(t, out.Message, "holds 1.00")
	require.Contains(t, out.Message, "send 9.00 USDC")
	require.NotContains(t, out.Message, "\x1b")
	for _, path := range []string{"/actions/nothing", "/actions/audit/", "/actions/audit/x/y", "/actions/"} {
		require.Equal(t, http.StatusNotFound, act(t, s, http.MethodGet, path, "", &out).Code, path)
		require.NotEmpty(t, out.Message)
	}
	require.Equal(t, http.StatusMethodNotAllowed, act(t, s, http.MethodDelete, "/actions/credits", "", &out).Code)
	require.Equal(t, http.StatusNotFound, act(t, s, http.MethodGet, "/actions/audit/notalease", "", &out).Code)
	require.Contains(t, out.Message, "not the address of a lease")
	require.Equal(t, http.StatusNotFound, act(t, s, http.MethodPost, "/actions/audit/notalease", body, &out).Code)

	s, all, _ := actionServer(t)
	codes := map[int]int{}
	for range 60 {
		codes[act(t, s, http.MethodPost, "/actions/credits?amount=10", body, nil).Code]++
	}
	require.NotZero(t, codes[http.StatusTooManyRequests], "a deposit costs a visitor as much as a history")
	require.LessOrEqual(t, len(*all), visitorBurst/heavyCost+2)
}

// Every address in an answer is whole and below the public one, so that an answer means the same on any page.
func TestActionsAreWhole(t *testing.T) {
	s, _, _ := actionServer(t)
	var rules struct {
		Rules []struct{ PathPattern, APIPath string }
	}
	require.Equal(t, http.StatusOK, act(t, s, http.MethodGet, "/actions.json", "", &rules).Code)
	require.Len(t, rules.Rules, 1)
	require.Equal(t, "https://market.example/gantry/actions/**", rules.Rules[0].PathPattern)
	for _, path := range []string{"/actions/credits", "/actions/audit"} {
		var a action
		require.Equal(t, http.StatusOK, act(t, s, http.MethodGet, path, "", &a).Code)
		require.Equal(t, "action", a.Type)
		require.Equal(t, "https://market.example/gantry/actions/icon.svg", a.Icon)
		require.NotEmpty(t, a.Links.Actions)
		for _, b := range a.Links.Actions {
			require.True(t, strings.HasPrefix(b.Href, "https://market.example/gantry"+path), b.Href)
			require.LessOrEqual(t, len(strings.Fields(b.Label)), 5)
			for _, p := range b.Parameters {
				require.Contains(t, b.Href, "{"+p.Name+"}")
				require.NotEmpty(t, p.Says)
			}
		}
	}
	w := act(t, s, http.MethodGet, "/actions/icon.svg", "", nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "image/svg+xml", w.Header().Get("Content-Type"))
	for _, path := range []string{"/actions.json", "/actions/credits", "/actions/audit/x"} {
		w = act(t, s, http.MethodOptions, path, "", nil)
		require.Equal(t, http.StatusNoContent, w.Code)
		require.Contains(t, w.Header().Get("Access-Control-Allow-Methods"), "POST")
		require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Content-Type")
	}
	lease := solana.NewWallet().PublicKey().String()
	var link struct{ Type, ExternalLink, Transaction string }
	require.Equal(t, http.StatusOK, act(t, s, http.MethodPost, "/actions/audit/"+lease, "{}", &link).Code)
	require.Equal(t, "external-link", link.Type)
	require.Equal(t, "https://market.example/gantry/#/audit/"+lease, link.ExternalLink)
	require.Empty(t, link.Transaction)
}

// A public server without a public address has no actions, other hosts get none, and nothing but actions may be read by pages of other sites.
func TestActionsAreApart(t *testing.T) {
	s, _, _ := actionServer(t)
	w, _ := ask(t, s, http.MethodGet, "/actions/credits", "", map[string]string{"Host": "evil.example"})
	require.Equal(t, http.StatusMisdirectedRequest, w.Code)
	w, _ = ask(t, s, http.MethodGet, "/health", "", map[string]string{"Host": "market.example", "Origin": "https://blinks.example"})
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	w, _ = ask(t, s, http.MethodPost, "/v1/orders", "{}", map[string]string{"Host": "market.example"})
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	for _, path := range []string{"/actions.json", "/actions/credits"} {
		w, _ = ask(t, publicServer(t), http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusNotFound, w.Code)
	}
}

// What an action says of an audit begins with its verdict, and names what is wrong.
func TestAuditWords(t *testing.T) {
	a := service.Audit{
		Outcome: "right", Open: true, Price: "3.60", GPUs: 2, PaidSecs: 600, Paid: "1.200000", Provider: "1.164000", Fee: "0.036000", Refunded: "0.000000",
		Steps: []service.Step{{Name: "award", Tx: "a"}, {Name: "start", Tx: "a"}, {Name: "receipt", Tx: "b"}, {Name: "sum"}},
	}
	require.Equal(t, "Everything adds up. Rebuilt from 2 Solana transactions; no keeper's word was taken for it. 600 seconds × 2 GPU × 3.60 USDC an hour = 1.200000 USDC: "+
		"1.164000 for the provider, 0.036000 as the fee. 0.000000 USDC came back to the customer. The lease is not closed yet.", auditWords(&a))
	a.Outcome, a.Steps[2].Problems = "wrong", []string{"one", "two", "three\x1b[2J", "four"}
	text := auditWords(&a)
	require.True(t, strings.HasPrefix(text, "NOT everything adds up. receipt: one. receipt: two. receipt: three"), text)
	require.NotContains(t, text, "\x1b")
	require.Contains(t, text, "all 4 problems")
	a.Outcome = "unknown"
	text = auditWords(&a)
	require.True(t, strings.HasPrefix(text, "NOT KNOWN whether"), text)
	require.NotContains(t, text, "1.200000", "an amount that was not found out is not shown")
}
