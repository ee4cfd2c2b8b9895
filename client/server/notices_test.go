package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/sdk/group"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func keysOf(all []alert.Notice) (keys []string) {
	for _, n := range all {
		keys = append(keys, n.Key)
	}
	slices.Sort(keys)
	return keys
}

// A budget, credits, a lease without its job and a dispute are told while they last.
func TestStandingNotices(t *testing.T) {
	customer, session, order := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}
	v := view.New(view.Options{Log: zerolog.Nop()})
	names := map[solana.PublicKey]string{session: team.MainBudget, {9}: "unnamed"}
	c := &market.Credits{}
	c.Credits.Customer, c.Balance, c.Credits.Reserved = customer, 1000, 799
	c.SessionKeys[0] = bindings.SessionKey{Key: session, Cap: 100, Spent: 79}
	v.Put(market.CreditsAddress(customer), c)
	l := &market.Lease{}
	l.Address = solana.PublicKey{4}
	l.Customer, l.Order, l.Status, l.AwardedAt = customer, order, uint8(market.LeaseRunning), 7
	v.Put(l.Address, l)
	p := purchase.Purchase{Order: order, Stage: purchase.Handed}
	p.Args.Customer = customer
	require.Empty(t, standing(v, customer, names, []purchase.Purchase{p}))

	full := *c
	full.Credits.Reserved = 800
	full.SessionKeys[0] = bindings.SessionKey{Key: session, Cap: 100, Spent: 80}
	v.Put(market.CreditsAddress(customer), &full)
	d := &market.Dispute{}
	d.Address = market.DisputeAddress(l.Address)
	d.Lease, d.OpenedAt = l.Address, 5
	v.Put(d.Address, d)
	p.Stage, p.Short = purchase.Placed, &group.Short{Since: 6, Until: 8}
	got := standing(v, customer, names, []purchase.Purchase{p})
	require.Equal(t, []string{"budget/main", "credits", "dispute/" + l.Address.String() + "/5", "group-short/" + order.String() + "/6", "unattended/" + l.Address.String() + "/7"}, keysOf(got))
	for _, n := range got {
		require.Contains(t, n.Text, "gantry ", n.Key)
	}
	require.True(t, reached(1<<63, 1<<63))
	require.False(t, reached(1<<62, 1<<63))
}

func TestTheEndOfALeaseIsTold(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	l := service.Lease{Address: "L", Status: "ended", EndReason: market.EndedByProvider.String(), EndedAt: now.Unix(), AwardedAt: 3}
	n, ok := ended(serve.Event{Lease: &l, At: now.Unix()}, now)
	require.True(t, ok)
	require.Equal(t, "lease-ended/L/3", n.Key)
	require.Equal(t, "A lease has ended: by provider", n.Subject)
	require.Equal(t, alert.Warning, n.Severity)
	l.EndReason = market.EndedJobDone.String()
	n, _ = ended(serve.Event{Lease: &l, At: now.Unix()}, now)
	require.Equal(t, alert.Info, n.Severity)
	failed := service.Lease{Address: "L", Status: "failed"}
	n, ok = ended(serve.Event{Lease: &failed, At: now.Unix()}, now)
	require.True(t, ok)
	require.Contains(t, n.Subject, "node failed")
	for _, e := range []serve.Event{{At: now.Unix()}, {Lease: &service.Lease{Status: "running"}, At: now.Unix()}, {Lease: &l, At: now.Add(-48 * time.Hour).Unix()}} {
		_, ok := ended(e, now)
		require.False(t, ok)
	}
	l.EndedAt -= 100_000
	_, ok = ended(serve.Event{Lease: &l, At: now.Unix()}, now)
	require.False(t, ok, "a new server sees old leases")
}

func TestTestNotify(t *testing.T) {
	got := make(chan alert.Notice, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n alert.Notice
		_ = json.NewDecoder(r.Body).Decode(&n)
		got <- n
	}))
	defer s.Close()
	to, err := TestNotify(t.Context(), []string{s.URL + "/secret"})
	require.NoError(t, err)
	require.Equal(t, s.URL, to)
	require.Equal(t, "test", (<-got).Key)
	for _, urls := range [][]string{nil, {"x"}} {
		_, err := TestNotify(t.Context(), urls)
		var f *service.Failure
		require.ErrorAs(t, err, &f)
	}
}
