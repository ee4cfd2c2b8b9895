package team

import "slices"

// Role is what a member may do.
type Role string

// The roles, each may do what those before it may.
const (
	// Viewer reads.
	Viewer Role = "viewer"
	// Deployer buys from its budget, and stops, extends and enters what was bought from it.
	Deployer Role = "deployer"
	// Owner does everything, also with the team.
	Owner Role = "owner"
)

var roles = []Role{Viewer, Deployer, Owner}

// Valid reports whether it is one of the roles.
func (r Role) Valid() bool { return slices.Contains(roles, r) }

// Covers reports whether a role may do what another may.
func (r Role) Covers(other Role) bool {
	return r.Valid() && slices.Index(roles, r) >= slices.Index(roles, other)
}

// Caller is who has sent a request.
type Caller struct {
	// Member is its name, or one of the reserved names.
	Member string `json:"member"`
	// Token is the name of what it has shown.
	Token  string `json:"token"`
	Role   Role   `json:"role"`
	Budget string `json:"budget,omitempty"`
}

// Reserved names.
const (
	// MainBudget is the server's own session key.
	MainBudget = "main"
	// MemberServer is the holder of the server's own token or of its folder.
	MemberServer = "server"
	// MemberCustomer is the customer's wallet.
	MemberCustomer = "customer"
	// TokenPage is what a browser has that is signed in.
	TokenPage = "page"
	// TokenServer is the server's own token.
	TokenServer = "server"
	// TokenCommand is the command line on the server's machine.
	TokenCommand = "command"
)
