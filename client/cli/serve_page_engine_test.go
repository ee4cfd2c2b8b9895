package cli_test

import (
	"net/http"
	"strings"

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
