package serve

import (
	"io"
	"net/http"

	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/sdk/sponsor/desk"
)

const (
	// SponsorPath speaks Kora's JSON-RPC, whose errors are its own: it is not in /openapi.json.
	SponsorPath = "/sponsor"
	// opSponsor is its operation.
	opSponsor = "sponsor"
	// apiKey is the header in which clients of Kora send their token.
	apiKey = "X-Api-Key"
)

// sponsor answers a caller that wants its fees and rent paid. The limit of an owner's token is each wallet's own: behind it are the
// programs of the server's operator, which ask for many.
func (s *Server) sponsor(w http.ResponseWriter, r *http.Request) {
	c, _ := callerOf(r.Context())
	if p := permitted(c, opSponsor); p != nil {
		p.write(w)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		problem(http.StatusBadRequest, "the request cannot be read: "+err.Error(), "send it again").write(w)
		return
	}
	who := desk.Caller{Name: c.Member}
	if c.Role == team.Owner {
		who.Name = ""
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.o.Sponsor.Answer(r.Context(), who, body)) // a client that is gone asks again
}

// Sponsor is who pays fees and rent of the server's callers.
type Sponsor struct {
	URL   string `json:"url"`
	Key   string `json:"key"`
	Day   string `json:"day"`   // of a caller
	Total string `json:"total"` // of all, a day
}

// SponsorAt describes the sponsor of a server at a URL; nil for none.
func SponsorAt(d *desk.Desk, url string) *Sponsor {
	if d == nil {
		return nil
	}
	limits := d.Limits()
	return &Sponsor{URL: url + SponsorPath, Key: d.Key().String(), Day: limits.Caller.String(), Total: limits.Total.String()}
}
