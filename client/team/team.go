package team

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
)

// Errors that callers tell apart.
var (
	// ErrUnknown: there is no such token, member or budget.
	ErrUnknown = errors.New("it is not known")
	// ErrEnded: the token has expired, was revoked, or its member is gone.
	ErrEnded = errors.New("it has ended")
	// ErrInvalid: what was asked for cannot be.
	ErrInvalid = errors.New("it cannot be")
	// ErrExists: the name is taken.
	ErrExists = errors.New("the name is taken")
	// ErrFull: there are as many as there may be.
	ErrFull = errors.New("there are too many")
)

const (
	// MaxMembers, MaxTokens and MaxBudgets bound the file. A customer has four session keys on chain.
	MaxMembers = 256
	MaxTokens  = 1024
	MaxBudgets = 4
	// LongestToken is how long a token may be valid.
	LongestToken = 366 * 24 * time.Hour
	// keptAfter is how long a token is kept after its end, so that who shows it learns why it is refused.
	keptAfter = 90 * 24 * time.Hour
)

// Member is somebody with a role.
type Member struct {
	Name string `json:"name" doc:"For people"`
	// Wallet signs its browser in; empty for none.
	Wallet  string    `json:"wallet,omitempty" doc:"That signs its browser in by a signed text"`
	Role    Role      `json:"role" enum:"viewer,deployer,owner"`
	Budget  string    `json:"budget,omitempty" doc:"What it buys from; a viewer has none"`
	Created time.Time `json:"created"`
}

// MemberToken is what a program of a member shows. Its text is shown once; its hash alone is kept.
type MemberToken struct {
	Name   string `json:"name" doc:"By which the log names it"`
	Member string `json:"member"`
	// Role is the most that it may do; never more than its member.
	Role    Role      `json:"role" enum:"viewer,deployer,owner" doc:"The most that it may do; never more than its member"`
	Budget  string    `json:"budget,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// ended says why a token is worth nothing any more; empty while it is.
func (t *MemberToken) ended(now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return fmt.Sprintf("the token %s of %s was revoked at %s", t.Name, t.Member, t.Revoked.UTC().Format(time.RFC3339))
	case !now.Before(t.Expires):
		return fmt.Sprintf("the token %s of %s expired at %s", t.Name, t.Member, t.Expires.UTC().Format(time.RFC3339))
	}
	return ""
}

// Budget is a session key of the customer.
type Budget struct {
	Name    string    `json:"name"`
	Key     string    `json:"key" doc:"The session key"`
	Created time.Time `json:"created"`
}

// Team is all of it, without secrets.
type Team struct {
	Members []Member      `json:"members" doc:"By name"`
	Tokens  []MemberToken `json:"tokens" doc:"By name; those that ended in the last 90 days are among them"`
	Budgets []Budget      `json:"budgets" doc:"By name; without main, the server's own session key"`
}

// kept is a token in the file.
type kept struct {
	MemberToken
	Hash [32]byte `json:"hash"`
}

// document is the file.
type document struct {
	Version int      `json:"version"`
	Members []Member `json:"members"`
	Tokens  []kept   `json:"tokens"`
	Budgets []Budget `json:"budgets"`
}

const version = 1

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`)

func checkName(text string) error {
	if !nameForm.MatchString(text) {
		return fmt.Errorf("%w: %q is not a name: lower case letters, digits, dots, dashes and underscores, at most 32", ErrInvalid, text)
	}
	if slices.Contains([]string{MemberServer, MemberCustomer, TokenPage, TokenCommand, MainBudget}, text) {
		return fmt.Errorf("%w: the name %q is reserved", ErrInvalid, text)
	}
	return nil
}

func (d *document) member(name string) (*Member, error) {
	if i := slices.IndexFunc(d.Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return &d.Members[i], nil
	}
	return nil, fmt.Errorf("member %q: %w", name, ErrUnknown)
}

func (d *document) hasBudget(name string) bool {
	return name == MainBudget || slices.ContainsFunc(d.Budgets, func(b Budget) bool { return b.Name == name })
}

// checkRole says why a role cannot have a budget, or must have one.
func (d *document) checkRole(r Role, budget string) error {
	switch {
	case !r.Valid():
		return fmt.Errorf("%w: %q is not a role: viewer, deployer or owner", ErrInvalid, r)
	case r == Deployer && budget == "":
		return fmt.Errorf("%w: a deployer buys from a budget, and none is named (the server's own is %q)", ErrInvalid, MainBudget)
	case r == Viewer && budget != "":
		return fmt.Errorf("%w: a viewer buys nothing, and has no budget", ErrInvalid)
	case budget != "" && !d.hasBudget(budget):
		return fmt.Errorf("%w: there is no budget %q", ErrInvalid, budget)
	}
	return nil
}

// put adds a member, or changes it.
func (d *document) put(m Member, now time.Time) error {
	if err := checkName(m.Name); err != nil {
		return err
	}
	if err := d.checkRole(m.Role, m.Budget); err != nil {
		return err
	}
	if m.Wallet != "" {
		if _, err := solana.PublicKeyFromBase58(m.Wallet); err != nil {
			return fmt.Errorf("%w: %q is not the address of a wallet", ErrInvalid, m.Wallet)
		}
	}
	for _, other := range d.Members {
		if m.Wallet != "" && other.Wallet == m.Wallet && other.Name != m.Name {
			return fmt.Errorf("%w: the wallet %s is that of %s", ErrInvalid, m.Wallet, other.Name)
		}
	}
	if old, err := d.member(m.Name); err == nil {
		m.Created = old.Created
		*old = m
		return nil
	}
	if len(d.Members) >= MaxMembers {
		return fmt.Errorf("%w: %d members", ErrFull, MaxMembers)
	}
	m.Created = now
	d.Members = append(d.Members, m)
	slices.SortFunc(d.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// remove takes a member out, and revokes its tokens.
func (d *document) remove(name string, now time.Time) error {
	if _, err := d.member(name); err != nil {
		return err
	}
	d.Members = slices.DeleteFunc(d.Members, func(m Member) bool { return m.Name == name })
	for i := range d.Tokens {
		if t := &d.Tokens[i]; t.Member == name && t.Revoked.IsZero() {
			t.Revoked = now
		}
	}
	return nil
}

// add adds a token.
func (d *document) add(t *kept, lasts time.Duration, now time.Time) error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	m, err := d.member(t.Member)
	if err != nil {
		return err
	}
	if t.Role == "" {
		t.Role = m.Role
	}
	if t.Budget == "" && t.Role != Viewer {
		t.Budget = m.Budget
	}
	switch err := d.checkRole(t.Role, t.Budget); {
	case err != nil:
		return err
	case !m.Role.Covers(t.Role):
		return fmt.Errorf("%w: %s is a %s, and has no token of a %s", ErrInvalid, m.Name, m.Role, t.Role)
	case m.Role != Owner && t.Budget != "" && t.Budget != m.Budget:
		return fmt.Errorf("%w: %s buys from the budget %q, and has no token for %q", ErrInvalid, m.Name, m.Budget, t.Budget)
	case lasts < time.Second || lasts > LongestToken:
		return fmt.Errorf("%w: a token lasts from a second to %d days", ErrInvalid, int(LongestToken.Hours()/24))
	case slices.ContainsFunc(d.Tokens, func(x kept) bool { return x.Name == t.Name }):
		return fmt.Errorf("token %q: %w; names of tokens that have ended are free after %d days", t.Name, ErrExists, int(keptAfter.Hours()/24))
	case len(d.Tokens) >= MaxTokens:
		return fmt.Errorf("%w: %d tokens, those that ended in the last %d days included", ErrFull, MaxTokens, int(keptAfter.Hours()/24))
	}
	t.Created, t.Expires = now, now.Add(lasts)
	d.Tokens = append(d.Tokens, *t)
	slices.SortFunc(d.Tokens, func(a, b kept) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// revoke ends a token.
func (d *document) revoke(name string, now time.Time) error {
	for i := range d.Tokens {
		if t := &d.Tokens[i]; t.Name == name {
			if t.Revoked.IsZero() {
				t.Revoked = now
			}
			return nil
		}
	}
	return fmt.Errorf("token %q: %w", name, ErrUnknown)
}

// forget drops tokens that have ended long ago.
func (d *document) forget(now time.Time) {
	d.Tokens = slices.DeleteFunc(d.Tokens, func(t kept) bool {
		end := t.Expires
		if !t.Revoked.IsZero() && t.Revoked.Before(end) {
			end = t.Revoked
		}
		return now.After(end.Add(keptAfter))
	})
}

// caller is who has shown a token. Errors: ErrUnknown, ErrEnded.
func (d *document) caller(hash [32]byte, now time.Time) (Caller, error) {
	i := slices.IndexFunc(d.Tokens, func(t kept) bool { return t.Hash == hash })
	if i < 0 {
		return Caller{}, fmt.Errorf("token: %w", ErrUnknown)
	}
	t := &d.Tokens[i]
	if why := t.ended(now); why != "" {
		return Caller{}, fmt.Errorf("%w: %s", ErrEnded, why)
	}
	m, err := d.member(t.Member)
	if err != nil {
		return Caller{}, fmt.Errorf("%w: the member %s is gone", ErrEnded, t.Member)
	}
	return m.caller(&t.MemberToken), nil
}

// caller is a member with a token: what both may do. A budget that the member has no longer is none.
func (m *Member) caller(t *MemberToken) Caller {
	c := Caller{Member: m.Name, Token: t.Name, Role: t.Role, Budget: t.Budget}
	if !m.Role.Covers(t.Role) {
		c.Role = m.Role
	}
	switch {
	case c.Role == Viewer:
		c.Budget = ""
	case c.Role == Owner && c.Budget == "":
		c.Budget = MainBudget
	case c.Role == Deployer && m.Role != Owner && c.Budget != m.Budget:
		c.Role, c.Budget = Viewer, ""
	}
	return c
}
