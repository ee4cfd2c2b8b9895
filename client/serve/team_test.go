package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
)

// purse is a buyer of one budget, who notes what it was asked for.
type purse struct {
	name   string
	bought *[]string
}

func (p purse) Buy(_ context.Context, name string, _ OrderRequest) (Bought, error) {
	*p.bought = append(*p.bought, p.name+"/"+name)
	return Bought{Order: "o", Leases: []service.Lease{}}, nil
}

func (purse) SoFar(_ context.Context, _ string) (Bought, error) {
	return Bought{}, nil
}

func (purse) Stop(context.Context, solana.PublicKey) (service.Lease, error) {
	return service.Lease{}, nil
}

type purses struct{ bought *[]string }

func (p purses) Actor(budget string) (Actor, error) {
	if budget != "ops" {
		return Actor{}, fmt.Errorf("budget %q: %w", budget, team.ErrUnknown)
	}
	return Actor{Buyer: purse{budget, p.bought}}, nil
}

func (purses) Bought(solana.PublicKey) (string, error) { return "ops", nil }

func teamServer(t *testing.T) (s *Server, teams *team.Store, token func(member string, role team.Role, budget string) string, bought *[]string) {
	t.Helper()
	teams, err := team.Open(t.TempDir())
	require.NoError(t, err)
	by := team.Caller{Member: team.MemberServer, Token: team.TokenCommand, Role: team.Owner}
	_, err = teams.AddBudget(by, "ops")
	require.NoError(t, err)
	bought = &[]string{}
	s = New(Options{Store: testStore(t), Team: teams, Budgets: purses{bought}, Buyer: purse{"main", bought}, Service: unconnected(t), Log: zerolog.Nop()})
	t.Cleanup(s.orders.begin(t.Context()))
	_, err = s.o.Store.NewToken()
	require.NoError(t, err)
	return s, teams, func(member string, role team.Role, budget string) string {
		require.NoError(t, teams.PutMember(by, team.Member{Name: member, Role: role, Budget: budget}))
		_, text, err := teams.AddToken(by, team.MemberToken{Name: member + "-ci", Member: member}, time.Hour)
		require.NoError(t, err)
		return text
	}, bought
}

// Every operation of the API, also those of the page, has the role that it should, and a role that is too small is refused
// with the role that is needed.
func TestRolesOfOperations(t *testing.T) {
	s, _, token, _ := teamServer(t)
	viewer, deployer := token("vic", team.Viewer, ""), token("dan", team.Deployer, "ops")
	lease := solana.PublicKey{7}.String()
	for _, c := range []struct {
		method, path, body string
		need               team.Role
	}{
		{http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60}`, team.Deployer},
		{http.MethodPost, "/v1/templates/ssh/orders", `{}`, team.Deployer},
		{http.MethodPost, "/v1/catalogue/qwen3-8b/orders", `{}`, team.Deployer},
		{http.MethodGet, "/v1/offers?image=registry.example/x", ``, team.Deployer},
		{http.MethodPost, "/v1/clusters/x/scale", `{"nodes": 2}`, team.Deployer},
		{http.MethodGet, "/v1/volumes", ``, team.Deployer},
		{http.MethodDelete, "/v1/volumes/x", ``, team.Owner},
		{http.MethodPost, "/v1/leases/" + lease + "/stop", ``, team.Deployer},
		{http.MethodPost, "/v1/leases/" + lease + "/extend", `{"seconds": 1}`, team.Deployer},
		{http.MethodPut, "/v1/leases/" + lease + "/name", `{"name": "x"}`, team.Deployer},
		{http.MethodPost, "/v1/leases/" + lease + "/forwards", `{"port": 1}`, team.Deployer},
		{http.MethodPut, "/v1/deployments/x", `{"template": "vllm", "minReplicas": 0, "maxReplicas": 1}`, team.Deployer},
		{http.MethodDelete, "/v1/deployments/x", ``, team.Deployer},
		{http.MethodPost, "/v1/inference/tokens", `{"name": "x"}`, team.Deployer},
		{http.MethodGet, "/v1/inference/tokens", ``, team.Deployer},
		{http.MethodDelete, "/v1/inference/tokens/000000000000", ``, team.Deployer},
		{http.MethodGet, "/v1/team", ``, team.Owner},
		{http.MethodPut, "/v1/team/members/x", `{"role": "viewer"}`, team.Owner},
		{http.MethodDelete, "/v1/team/members/x", ``, team.Owner},
		{http.MethodPost, "/v1/team/tokens", `{"name": "x", "member": "dan"}`, team.Owner},
		{http.MethodDelete, "/v1/team/tokens/x", ``, team.Owner},
		{http.MethodPut, "/v1/team/budgets/x", ``, team.Owner},
		{http.MethodGet, "/v1/team/log", ``, team.Owner},
	} {
		for _, who := range []struct {
			token string
			role  team.Role
		}{{viewer, team.Viewer}, {deployer, team.Deployer}} {
			if who.role.Covers(c.need) {
				continue
			}
			w, p := ask(t, s, c.method, c.path, c.body, map[string]string{"Authorization": "Bearer " + who.token, "Idempotency-Key": "k", "Content-Type": "application/json"})
			require.Equal(t, http.StatusForbidden, w.Code, "%s %s as %s: %s", c.method, c.path, who.role, w.Body)
			require.Contains(t, p.NextStep, string(c.need), "%s %s", c.method, c.path)
			require.NotContains(t, w.Body.String(), who.token)
		}
	}
}

// A budget has a buyer of its own; its keys are not those of another budget, and the log has who has bought.
func TestABudgetBuysWithItsOwnKey(t *testing.T) {
	s, teams, token, bought := teamServer(t)
	deployer, owner := token("dan", team.Deployer, "ops"), token("ada", team.Owner, "")
	header := func(token string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + token, "Idempotency-Key": "k", "Content-Type": "application/json"}
	}
	for _, who := range []string{deployer, owner} {
		w, _ := ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60}`, header(who))
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
	}
	require.Equal(t, []string{"ops/k", "main/k"}, *bought)
	lines, _, err := teams.Lines(0, true, 4)
	require.NoError(t, err)
	require.Equal(t, "POST /v1/orders", lines[0].Action)
	require.Equal(t, "dan-ci", lines[0].Token)
	require.Equal(t, "k", lines[0].Key)
	require.Equal(t, "201 Created", lines[1].Result)
	require.Equal(t, "o", lines[1].Order)
	require.Equal(t, "ada", lines[2].Member)

	var me Me
	w, _ := ask(t, s, http.MethodGet, "/v1/team/me", "", header(deployer))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &me))
	require.Equal(t, team.Caller{Member: "dan", Token: "dan-ci", Role: team.Deployer, Budget: "ops"}, me.Caller)

	// Ended tokens say why, and what to do.
	by := team.Caller{Member: team.MemberServer}
	require.NoError(t, teams.RevokeToken(by, "dan-ci"))
	w, p := ask(t, s, http.MethodGet, "/v1/team/me", "", header(deployer))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Contains(t, p.Detail, "revoked")
	require.Contains(t, p.NextStep, "owner")
	require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
}

// A lease of one budget is not another's to stop; owners may.
func TestLeasesOfOtherBudgets(t *testing.T) {
	as := func(c team.Caller) context.Context { return context.WithValue(t.Context(), callerKey{}, c) }
	require.Nil(t, otherBudget(as(team.Caller{Role: team.Owner, Budget: "main"}), "lease x", "ops"))
	require.Nil(t, otherBudget(as(team.Caller{Role: team.Deployer, Budget: "ops"}), "lease x", "ops"))
	for _, c := range []team.Caller{{Role: team.Deployer, Budget: "main"}, {Role: team.Viewer}, {}} {
		for _, budget := range []string{"ops", ""} {
			p := otherBudget(as(c), "lease x", budget)
			require.NotNil(t, p, "%v %q", c, budget)
			require.Equal(t, http.StatusForbidden, p.Status)
		}
	}
}

// A change whose line cannot be written is not made.
func TestNothingIsChangedWithoutItsLine(t *testing.T) {
	s, teams, token, bought := teamServer(t)
	deployer := token("dan", team.Deployer, "ops")
	// A line that nobody has written.
	dir := filepath.Dir(filepath.Dir(teams.KeyFile("ops")))
	f, err := os.OpenFile(filepath.Join(dir, "team.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("{}\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	w, p := ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60}`, map[string]string{"Authorization": "Bearer " + deployer, "Idempotency-Key": "k", "Content-Type": "application/json"})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, p.Detail, "nothing was changed")
	require.Empty(t, *bought)
}

// A value that is wrong does not come back: it may be a secret.
func TestProblemsDoNotRepeatValues(t *testing.T) {
	s, _, token, _ := teamServer(t)
	deployer := token("dan", team.Deployer, "ops")
	w, p := ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60, "env": {"K": 5}, "hunter2": "hunter3", "image": ["hunter4"]}`,
		map[string]string{"Authorization": "Bearer " + deployer, "Idempotency-Key": "k", "Content-Type": "application/json"})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.NotEmpty(t, p.Errors)
	for _, secret := range []string{"hunter3", "hunter4", deployer} {
		require.NotContains(t, w.Body.String(), secret)
	}
}
