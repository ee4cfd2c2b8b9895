package serve

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/audit"
)

// maxProblems is how many problems of an audit an action shows.
const maxProblems = 3

// auditAction asks for a lease.
func (s *Server) auditAction(w http.ResponseWriter, _ *http.Request) {
	a := s.o.Actions
	actionAnswer(w, action{
		Type: "action", Icon: a.at(actionIcon), Title: "Audit of a lease", Label: "Audit a lease",
		Description: "Rebuilds the life of any lease of Gantry from its transactions, and checks every amount, signature and proof again.",
		Links: actionLinks{[]actionButton{{
			Type: buttonLink, Href: a.at(actionAudit) + "/{lease}", Label: "Audit the lease",
			Parameters: []actionParameter{{
				Type: "text", Name: "lease", Label: "Address of a lease", Required: true, Pattern: "^[1-9A-HJ-NP-Za-km-z]{32,44}$", Says: "The address of a lease, of any customer",
			}},
		}}},
	})
}

// auditOfAction says what the audit of a lease comes to.
func (s *Server) auditOfAction(w http.ResponseWriter, r *http.Request) {
	id, err := publicKey(r.PathValue("id"), "a lease", copyWhole)
	if err != nil {
		s.actionFailed(w, err)
		return
	}
	out, err := audited(s, func() (service.Audit, error) { return s.o.Service.Audit(r.Context(), id) })
	if err != nil {
		s.actionFailed(w, err)
		return
	}
	a := s.o.Actions
	actionAnswer(w, action{
		Type: "action", Icon: a.at(actionIcon), Title: "Audit of the lease " + id.String(), Label: "Open the audit", Description: auditWords(&out.Body),
		Links: actionLinks{[]actionButton{{Type: buttonLink, Href: a.at(actionAudit + "/" + id.String()), Label: "Open the audit"}}},
	})
}

// auditLink leads to the audit on the page. It is the answer of the specification for what has nothing to sign: a transaction or a message would
// only train people to sign for reading. Who asks does not matter, so that the account in the request is not read.
func (s *Server) auditLink(w http.ResponseWriter, r *http.Request) {
	id, err := publicKey(r.PathValue("id"), "a lease", copyWhole)
	if err != nil {
		s.actionFailed(w, err)
		return
	}
	actionAnswer(w, map[string]string{"type": buttonLink, "externalLink": s.o.Actions.at("/") + "#/audit/" + id.String()})
}

// auditWords says in a few sentences what an audit has found.
func auditWords(a *service.Audit) string {
	verdict := []rune(service.Verdict(a.Outcome))
	verdict[0] = unicode.ToUpper(verdict[0])
	said := []string{string(verdict) + "."}
	transactions, problems := map[string]bool{}, 0
	for _, step := range a.Steps {
		if step.Tx != "" {
			transactions[step.Tx] = true
		}
		for _, p := range step.Problems {
			if problems++; problems <= maxProblems {
				said = append(said, fmt.Sprintf("%s: %s.", step.Name, strings.TrimSuffix(printable.Text(p), ".")))
			}
		}
	}
	if problems > maxProblems {
		said = append(said, fmt.Sprintf("The page shows all %d problems.", problems))
	}
	said = append(said, fmt.Sprintf("Rebuilt from %d Solana transactions; no keeper's word was taken for it.", len(transactions)))
	if a.PaidSecs > 0 && audit.Outcome(a.Outcome) != audit.Unknown {
		said = append(said, fmt.Sprintf("%d seconds × %d GPU × %s USDC an hour = %s USDC: %s for the provider, %s as the fee. %s USDC came back to the customer.",
			a.PaidSecs, a.GPUs, a.Price, a.Paid, a.Provider, a.Fee, a.Refunded))
	}
	if a.Open {
		said = append(said, "The lease is not closed yet.")
	}
	return strings.Join(said, " ")
}
