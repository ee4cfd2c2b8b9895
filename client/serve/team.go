package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/sdk/market"
)

const teamPath = "/v1/team"

// Me is who has sent the request.
type Me struct {
	team.Caller
	Customer string `json:"customer" doc:"Whose credits are spent"`
}

// MemberRequest is what a member is to be.
type MemberRequest struct {
	Role   team.Role `json:"role" enum:"viewer,deployer,owner"`
	Budget string    `json:"budget,omitempty" maxLength:"32" doc:"What it buys from: main, or one of /v1/team/budgets. A deployer needs one, a viewer has none"`
	Wallet string    `json:"wallet,omitempty" maxLength:"44" doc:"Signs its browser in"`
}

// TeamTokenRequest asks for a token of a member.
type TeamTokenRequest struct {
	Name    string    `json:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,31}$" doc:"By which the log names it"`
	Member  string    `json:"member" pattern:"^[a-z0-9][a-z0-9._-]{0,31}$"`
	Role    team.Role `json:"role,omitempty" enum:"viewer,deployer,owner" doc:"The most that it may do; its member's by default"`
	Budget  string    `json:"budget,omitempty" maxLength:"32" doc:"Its member's by default"`
	Seconds uint32    `json:"seconds,omitempty" minimum:"1" maximum:"31622400" default:"7776000" doc:"How long it is valid"`
}

// NewTeamToken is a token with its text.
type NewTeamToken struct {
	team.MemberToken
	Text string `json:"token" doc:"It is not shown again"`
}

// BudgetState is what is left of a budget, by the chain.
type BudgetState struct {
	Name string `json:"name"`
	service.Limit
	State string `json:"state" enum:"valid,expired,unnamed" doc:"Of its session key: unnamed where the customer does not name it"`
	SOL   string `json:"sol" doc:"For fees and rent"`
}

// BudgetStates are all budgets.
type BudgetStates struct {
	Customer string        `json:"customer"`
	Budgets  []BudgetState `json:"budgets" doc:"The server's own session key, main, first"`
	AtRisk   string        `json:"atRisk" doc:"What somebody who has copied the server's folder can spend at most, USDC: the sum of what is left of the caps of valid keys"`
	SOL      string        `json:"solAtRisk" doc:"What its keys hold for fees"`
	Free     string        `json:"free" doc:"The customer's free credits: more cannot be spent before others are added"`
}

// Changes are lines of the log.
type Changes struct {
	team.Checked
	Changes []team.Line `json:"changes" doc:"In their order"`
}

type logInput struct {
	After uint64 `query:"after" maximum:"9007199254740991" doc:"Number of the line behind which to begin; the last lines without it"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most lines that are answered"`
}

type teamNameInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,31}$"`
}

type memberInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,31}$"`
	Body MemberRequest
}

// registerTeam adds the operations.
func (s *Server) registerTeam(api huma.API) {
	writes := func(id, method, path, summary string, status int) huma.Operation {
		op := read(id, path, summary)
		op.Method, op.DefaultStatus, op.MaxBodyBytes = method, status, maxBody
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable)
		return op
	}
	huma.Register(api, read("get-team", teamPath, "Members, tokens and budgets"), func(context.Context, *struct{}) (*reply[team.Team], error) {
		return teamReply(s, func(t *team.Store) (team.Team, error) { return t.Team() })
	})
	huma.Register(api, read("get-me", teamPath+"/me", "Who the token belongs to"), func(ctx context.Context, _ *struct{}) (*reply[Me], error) {
		c, _ := callerOf(ctx)
		return &reply[Me]{Me{Caller: c, Customer: s.o.Customer.String()}}, nil
	})
	huma.Register(api, writes("put-member", http.MethodPut, teamPath+"/members/{name}", "Add a member, or change it", http.StatusOK), func(ctx context.Context, in *memberInput) (*reply[team.Team], error) {
		return teamReply(s, func(t *team.Store) (team.Team, error) {
			c, _ := callerOf(ctx)
			if err := t.PutMember(c, team.Member{Name: in.Name, Role: in.Body.Role, Budget: in.Body.Budget, Wallet: in.Body.Wallet}); err != nil {
				return team.Team{}, err
			}
			return t.Team()
		})
	})
	huma.Register(api, writes("remove-member", http.MethodDelete, teamPath+"/members/{name}", "Take a member out, and revoke its tokens", http.StatusNoContent), s.teamDelete((*team.Store).RemoveMember))
	token := writes("create-team-token", http.MethodPost, teamPath+"/tokens", "Make a token for a member", http.StatusCreated)
	token.Description = "A repeated request is refused: the name is taken, and the token is not shown again."
	huma.Register(api, token, func(ctx context.Context, in *struct{ Body TeamTokenRequest }) (*reply[NewTeamToken], error) {
		return teamReply(s, func(t *team.Store) (out NewTeamToken, err error) {
			c, _ := callerOf(ctx)
			ask := team.MemberToken{Name: in.Body.Name, Member: in.Body.Member, Role: in.Body.Role, Budget: in.Body.Budget}
			out.MemberToken, out.Text, err = t.AddToken(c, ask, time.Duration(in.Body.Seconds)*time.Second)
			return out, err
		})
	})
	huma.Register(api, writes("revoke-team-token", http.MethodDelete, teamPath+"/tokens/{name}", "Revoke a token", http.StatusNoContent), s.teamDelete((*team.Store).RevokeToken))
	budgets := read("list-budgets", teamPath+"/budgets", "What is left of each budget, and of all")
	budgets.Description = "A budget is a session key of the customer: its cap, what it has spent and its end are read from the chain."
	huma.Register(api, budgets, func(ctx context.Context, _ *struct{}) (*reply[BudgetStates], error) {
		b, err := s.BudgetStates(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[BudgetStates]{b}, nil
	})
	add := writes("create-budget", http.MethodPut, teamPath+"/budgets/{name}", "Make a budget with a session key of its own", http.StatusOK)
	add.Description = "The customer's wallet then names the key with a cap: gantry session add KEY --cap USDC. A repeated request makes nothing."
	huma.Register(api, add, func(ctx context.Context, in *teamNameInput) (*reply[team.Budget], error) {
		return teamReply(s, func(t *team.Store) (team.Budget, error) {
			c, _ := callerOf(ctx)
			return t.AddBudget(c, in.Name)
		})
	})
	changes := read("get-team-log", teamPath+"/log", "What was changed, by whom")
	changes.Description = "Every change has a line before it is made, and one with its result (of). The whole log is checked for each answer: a changed or removed line is an error."
	huma.Register(api, changes, func(_ context.Context, in *logInput) (*reply[Changes], error) {
		return teamReply(s, func(t *team.Store) (out Changes, err error) {
			out.Changes, out.Checked, err = t.Lines(in.After, in.After == 0, in.Limit)
			return out, err
		})
	})
}

// teamReply answers with what f finds in the team.
func teamReply[T any](s *Server, f func(*team.Store) (T, error)) (*reply[T], error) {
	if s.o.Team == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server has no team", "start it with gantry serve")
	}
	out, err := f(s.o.Team)
	if err != nil {
		return nil, teamFailed(err)
	}
	return &reply[T]{out}, nil
}

func (s *Server) teamDelete(f func(t *team.Store, by team.Caller, name string) error) func(context.Context, *teamNameInput) (*struct{}, error) {
	return func(ctx context.Context, in *teamNameInput) (*struct{}, error) {
		_, err := teamReply(s, func(t *team.Store) (struct{}, error) {
			c, _ := callerOf(ctx)
			return struct{}{}, f(t, c, in.Name)
		})
		return nil, err
	}
}

func teamFailed(err error) error {
	switch {
	case errors.Is(err, team.ErrUnknown):
		return problem(http.StatusNotFound, err.Error(), "see /v1/team")
	case errors.Is(err, team.ErrExists):
		return problem(http.StatusConflict, err.Error(), "choose another name")
	case errors.Is(err, team.ErrFull):
		return problem(http.StatusConflict, err.Error(), "take one out that is not needed: see /v1/team")
	case errors.Is(err, team.ErrInvalid):
		return problem(http.StatusUnprocessableEntity, err.Error(), "compare the request with /v1/team")
	case errors.Is(err, team.ErrLog):
		return problem(http.StatusInternalServerError, err.Error(), "look at team.log in the server's folder: somebody has changed it; see gantry team log --check")
	}
	return failed(err)
}

// BudgetStates reads what is left of the budgets. A customer without credits has named no key.
func (s *Server) BudgetStates(ctx context.Context) (out BudgetStates, err error) {
	budgets := []team.Budget{{Name: team.MainBudget, Key: s.o.Session.String()}}
	if s.o.Team != nil {
		t, err := s.o.Team.Team()
		if err != nil {
			return out, err
		}
		budgets = append(budgets, t.Budgets...)
	}
	cluster, err := s.o.Service.Cluster(ctx)
	if err != nil {
		return out, err
	}
	out.Customer, out.Budgets = s.o.Customer.String(), []BudgetState{}
	var left market.USDC
	var keys []solana.PublicKey
	for _, b := range budgets {
		key, err := solana.PublicKeyFromBase58(b.Key)
		if err != nil {
			return out, err
		}
		account, err := s.o.Service.Account(ctx, s.o.Customer, key)
		if err != nil {
			return out, err
		}
		state := BudgetState{Name: b.Name, Limit: account.Session, State: "valid"}
		switch rest, err := market.ParseUSDC(account.Session.Left); {
		case err != nil:
			return out, err
		case account.Session.Expires == 0:
			state.State = "unnamed"
		case cluster.Time >= account.Session.Expires:
			state.State = "expired"
		default:
			left += rest
		}
		out.Free, keys = account.Free, append(keys, key)
		out.Budgets = append(out.Budgets, state)
	}
	out.AtRisk = left.String()
	held, sum, err := s.o.Service.Fees(ctx, keys)
	for i := range held {
		out.Budgets[i].SOL = held[i]
	}
	out.SOL = sum
	return out, err
}
