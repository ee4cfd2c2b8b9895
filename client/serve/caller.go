package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/inference"
)

// needs is the role that each operation needs. One that is not here needs an owner.
var needs = map[string]team.Role{
	"list-offers": team.Viewer, "list-leases": team.Viewer, "get-lease": team.Viewer, "get-job": team.Viewer, "get-why": team.Viewer, "get-logs": team.Viewer, "list-events": team.Viewer,
	"get-status": team.Viewer, "get-statistics": team.Viewer, "get-statistics-history": team.Viewer, "get-checks-by-day": team.Viewer, "get-checks-by-hour": team.Viewer, "get-market": team.Viewer, "audit-lease": team.Viewer,
	"list-templates": team.Viewer, "get-template": team.Viewer, "list-models": team.Viewer, "get-model": team.Viewer, "list-deployments": team.Viewer, "get-deployment": team.Viewer,
	"list-clusters": team.Viewer, "get-cluster": team.Viewer, "get-deployment-usage": team.Viewer, "list-budgets": team.Viewer, "get-me": team.Viewer,
	"wallet-funds": team.Viewer, "keepers": team.Viewer, "lease-use": team.Viewer, "sign-out": team.Viewer,

	"create-order": team.Deployer, "order-template": team.Deployer, "order-model": team.Deployer, "extend-lease": team.Deployer, "rename-lease": team.Deployer, "stop-lease": team.Deployer, "forward-port": team.Deployer, "list-files": team.Deployer, "read-file": team.Deployer, "write-file": team.Deployer,
	"create-deployment": team.Deployer, "delete-deployment": team.Deployer,
	"create-cluster": team.Deployer, "scale-cluster": team.Deployer, "end-cluster": team.Deployer, "list-volumes": team.Deployer, "get-volume": team.Deployer,
	"list-inference-tokens": team.Deployer, "create-inference-token": team.Deployer, "delete-inference-token": team.Deployer,
	opTerminal: team.Deployer, opExec: team.Deployer, opAskRegistry: team.Deployer, opSponsor: team.Deployer,
}

// Operations that are none of the document, besides the sponsor: a terminal, a command, and a search by an image, whose registry the
// server asks.
const opTerminal, opExec, opAskRegistry = "lease-terminal", "lease-exec", "search-by-image"

type callerKey struct{}

// owner is the caller with the server's own token, its page's link or the customer's wallet.
func owner(member, token string) team.Caller {
	return team.Caller{Member: member, Token: token, Role: team.Owner, Budget: team.MainBudget}
}

// callerOf is who has sent the request; none for what needs no token.
func callerOf(ctx context.Context) (team.Caller, bool) {
	c, known := ctx.Value(callerKey{}).(team.Caller)
	return c, known
}

// caller is who has shown a token. Errors: team.ErrUnknown, team.ErrEnded.
func (s *Server) caller(token string) (team.Caller, error) {
	if member, signedIn := s.signIns.member(token); signedIn {
		if member == team.MemberServer || member == team.MemberCustomer {
			return owner(member, team.TokenPage), nil
		}
		c, err := s.o.Team.Signed(member)
		if errors.Is(err, team.ErrUnknown) {
			err = fmt.Errorf("%w: %s is no longer a member", team.ErrEnded, member)
		}
		return c, err
	}
	admitted, err := s.o.Store.Admits(token)
	switch {
	case err != nil:
		return team.Caller{}, err
	case admitted:
		return owner(team.MemberServer, team.TokenServer), nil
	case s.o.Team == nil:
		return team.Caller{}, team.ErrUnknown
	}
	return s.o.Team.Caller(token)
}

// permitted says why somebody may not do an operation; nil when they may.
func permitted(c team.Caller, operation string) *Problem {
	role, known := needs[operation]
	if !known {
		role = team.Owner
	}
	if c.Role.Covers(role) {
		return nil
	}
	return problem(http.StatusForbidden, fmt.Sprintf("%s with the token %s is a %s, and this needs a %s", c.Member, c.Token, c.Role, role),
		fmt.Sprintf("ask an owner of the team for the role %s", role))
}

// authorise is huma's middleware that asks for an operation's role. Without a caller the guard has let the path through as
// one that needs no token.
func authorise(ctx huma.Context, next func(huma.Context)) {
	c, known := callerOf(ctx.Context())
	if known {
		if p := permitted(c, ctx.Operation().OperationID); p != nil {
			_, w := humago.Unwrap(ctx)
			p.write(w)
			return
		}
	}
	next(ctx)
}

// otherBudget says that something was bought from another budget than the caller's; nil when it was not, or the caller is an owner.
func otherBudget(ctx context.Context, what, budget string) *Problem {
	c, _ := callerOf(ctx)
	if c.Role == team.Owner || (c.Role == team.Deployer && budget != "" && budget == c.Budget) {
		return nil
	}
	from := fmt.Sprintf("was bought from the budget %q", budget)
	if budget == "" {
		from = "was not bought by this server"
	}
	return problem(http.StatusForbidden, fmt.Sprintf("%s %s; %s with the token %s is a %s of %q", what, from, c.Member, c.Token, c.Role, c.Budget),
		"ask an owner of the team, or a deployer of that budget")
}

// OpenAI says who may use every deployment with a token that is none of /v1/inference/tokens: owners.
func OpenAI(own *Store, t *team.Store) func(token string) (bool, error) {
	return func(token string) (bool, error) {
		if admitted, err := own.Admits(token); admitted || err != nil {
			return admitted, err
		}
		c, err := t.Caller(token)
		if errors.Is(err, team.ErrUnknown) || errors.Is(err, team.ErrEnded) {
			return false, nil
		}
		return err == nil && c.Role == team.Owner, err
	}
}

// ofDeployments refuses a token for deployments that another budget than the caller's pays. A token that names none is for all.
func (s *Server) ofDeployments(ctx context.Context, d *inference.Service, names []string) error {
	c, _ := callerOf(ctx)
	if c.Role == team.Owner {
		return nil
	}
	if len(names) == 0 {
		return problem(http.StatusForbidden, fmt.Sprintf("the token is for all deployments, and %s is a %s of %q", c.Member, c.Role, c.Budget), "name deployments of your budget")
	}
	for _, name := range names {
		_, spec, err := d.Deployment(name)
		if err != nil {
			return inferenceFailed(err)
		}
		if p := otherBudget(ctx, "the deployment "+name, budgetOf(spec)); p != nil {
			return p
		}
	}
	return nil
}
