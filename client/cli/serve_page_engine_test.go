package cli_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// shows asks for the status, and compares it with what a customer has whose one lease is of its session key's credits.
func (v *served) shows(customer, balance, left string) {
	v.t.Helper()
	var s struct {
		Cluster struct {
			Name, Program string
			Slot          uint64
			Time          int64
			Nodes         []string
		}
		Account struct {
			Customer, Balance, Reserved, Free string
			LiveLeases                        int
			Session                           struct{ Key, Cap, Spent, Left string }
		}
	}
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/status", nil, nil, &s))
	require.Equal(v.t, "localnet", s.Cluster.Name)
	require.NotEmpty(v.t, s.Cluster.Program)
	require.NotZero(v.t, s.Cluster.Slot)
	require.NotZero(v.t, s.Cluster.Time)
	require.Len(v.t, s.Cluster.Nodes, 1)
	require.NotContains(v.t, s.Cluster.Nodes[0], "/")
	require.Equal(v.t, customer, s.Account.Customer)
	require.Equal(v.t, balance, s.Account.Balance)
	require.Equal(v.t, 1, s.Account.LiveLeases)
	require.NotEqual(v.t, "0.00", s.Account.Reserved)
	require.Equal(v.t, left, s.Account.Session.Cap)
	require.Equal(v.t, left, s.Account.Session.Left, "the wallet has ordered, and not the session key")
	require.Equal(v.t, "0.00", s.Account.Session.Spent)
}

// showsProvider asks for a provider's machines, one of them with its record, and past slashes; who is none is not found.
func (v *served) showsProvider(me shell, wallet, node, lease string) {
	v.t.Helper()
	type machine struct {
		Address, Status, Wallet string
		Leases                  []struct{ Address, Status string }
		ToDo                    []struct{ What, Do string }
		Checks, Days            []any
		History                 struct {
			Since  int64
			Whole  bool
			Awards int
		}
	}
	var p struct {
		Wallet, Stake string
		FeeBPS        int
		Machines      []machine
	}
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/providers/"+wallet, nil, nil, &p))
	require.Equal(v.t, wallet, p.Wallet)
	require.Equal(v.t, "100", p.Stake)
	require.NotZero(v.t, p.FeeBPS)
	require.Len(v.t, p.Machines, 1)
	require.Equal(v.t, node, p.Machines[0].Address)
	require.Len(v.t, p.Machines[0].Leases, 1)
	require.Equal(v.t, lease, p.Machines[0].Leases[0].Address)
	var shown, answered map[string]any
	me.ok(&shown, "provider", "show", wallet)
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/providers/"+wallet, nil, nil, &answered))
	delete(shown, "at")
	delete(answered, "at")
	require.Equal(v.t, shown, answered, "the command shows the same")

	var m machine
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/nodes/"+node, nil, nil, &m))
	require.Equal(v.t, wallet, m.Wallet)
	require.Equal(v.t, 1, m.History.Awards)
	require.True(v.t, m.History.Whole)
	require.NotZero(v.t, m.History.Since)
	require.NotNil(v.t, m.Checks)
	require.NotNil(v.t, m.Days)
	var past struct {
		Slashes []any
		Whole   bool
	}
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/slashes", nil, nil, &past))
	require.NotNil(v.t, past.Slashes)
	require.True(v.t, past.Whole)
	for path, detail := range map[string]string{
		"/v1/providers/" + node: "is not a provider", "/v1/nodes/" + wallet: "there is no node", "/v1/slashes/" + node: "no fault of",
		"/v1/providers/11111111111111111111111111111111111111111111": "is not the address of a wallet",
	} {
		var p problem
		require.Equal(v.t, http.StatusNotFound, v.ask(http.MethodGet, path, nil, nil, &p), path)
		require.Contains(v.t, p.Detail, detail)
		require.NotEmpty(v.t, p.NextStep)
	}
	var history struct {
		Samples []struct {
			At     int64
			Total  struct{ GPUs int }
			Models []any
		}
	}
	require.Eventually(v.t, func() bool { // the first is noted down when the server begins
		return v.ask(http.MethodGet, "/v1/statistics/history", nil, nil, &history) == http.StatusOK && len(history.Samples) > 0
	}, time.Minute, 10*time.Millisecond)
	require.NotZero(v.t, history.Samples[0].At)
}

// signsIn follows the page's link as a browser does.
func (v *served) signsIn() {
	v.t.Helper()
	at, code, found := strings.Cut(v.page, "#code=")
	require.True(v.t, found, v.page)
	res, err := http.Get(at)
	require.NoError(v.t, err)
	require.NoError(v.t, res.Body.Close())
	require.Equal(v.t, http.StatusOK, res.StatusCode)
	var in struct{ Token string }
	browser := &served{t: v.t, url: v.url}
	require.Equal(v.t, http.StatusOK, browser.ask(http.MethodPost, "/page/session", map[string]string{"code": code}, nil, &in))
	browser.token = in.Token
	require.Equal(v.t, http.StatusOK, browser.ask(http.MethodGet, "/v1/leases", nil, nil, nil))
	require.Equal(v.t, http.StatusUnauthorized, browser.ask(http.MethodPost, "/page/session", map[string]string{"code": code}, nil, nil))
	require.Equal(v.t, http.StatusNoContent, browser.ask(http.MethodDelete, "/page/session", nil, nil, nil))
	require.Equal(v.t, http.StatusUnauthorized, browser.ask(http.MethodGet, "/v1/leases", nil, nil, nil))
}
