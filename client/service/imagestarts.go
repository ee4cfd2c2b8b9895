package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// ImageStarts says how an image has started on a machine, and on others with its driver.
type ImageStarts struct {
	Digest   string         `json:"digest" doc:"sha256 of the image's manifest"`
	Answered bool           `json:"answered" doc:"Whether the machine has answered; without that nothing of it is known"`
	Driver   string         `json:"driver,omitempty" doc:"Driver of the machine's GPUs now, as it says"`
	Sandbox  string         `json:"sandbox,omitempty" doc:"Version of its runsc now, as it says"`
	Ran      int            `json:"ran" doc:"Customers for whom the image last ran there: for a minute, or to status 0"`
	Failed   int            `json:"failed" doc:"Customers for whom it last did not"`
	Why      map[string]int `json:"outcomes,omitempty" doc:"The same customers by how it went"`
	Unproven int            `json:"unproven,omitempty" doc:"Records of the machine that do not count: no lease of them was found on chain"`
	Others   []StartCount   `json:"others,omitempty" doc:"How it went on other machines whose driver is of the same branch"`
	Says     string         `json:"says,omitempty" example:"failed on driver 595.x: 14 of 14" doc:"The same in words"`

	drivers map[string]bool // branches of drivers with which it was tried there, and whether it ran
}

// StartCount counts how an image has started on machines of a kind.
type StartCount struct {
	Driver  string `json:"driver,omitempty" doc:"Driver, major.minor"`
	Sandbox string `json:"sandbox,omitempty" doc:"Version of runsc"`
	Model   string `json:"model" doc:"Model of the GPUs"`
	Ran     int    `json:"ran" doc:"Pairs of owner and customer for whom it last ran"`
	Failed  int    `json:"failed"`
	Owners  int    `json:"owners" doc:"Owners of the machines"`
}

// StartVote is how an image last started for one customer on one machine: at most one for both.
type StartVote struct {
	Node, Provider string
	Customer       solana.PublicKey // its credits
	Model          string
	Start          records.Start
}

// Machines is what machines have answered, by the addresses of their nodes: with Answered, Driver, Sandbox and Unproven.
type Machines map[string]ImageStarts

// WithStarts returns offers with what is known of an image there. Those on which it ran come first, and the order stays otherwise: what is
// said of a machine by the records of others moves nothing. Offers of machines that were not asked stay as they are.
func WithStarts(offers []Offer, image records.Hash, asked Machines, votes []StartVote) []Offer {
	votes = lastVotes(votes)
	all := slices.Clone(offers)
	for i := range all {
		o := &all[i]
		is, known := asked[o.Address]
		if !known {
			continue
		}
		is.Digest = fmt.Sprintf("sha256:%x", image)
		is.Why, is.drivers = map[string]int{}, map[string]bool{}
		for _, v := range votes {
			if v.Node != o.Address {
				continue
			}
			is.Why[v.Start.Outcome.String()]++
			is.Ran += ran(v)
			is.Failed += 1 - ran(v)
			if v.Start.Outcome != records.StartNoImage { // which says nothing of the machine, see othersOf
				driver := branch(v.Start.Driver)
				is.drivers[driver] = is.drivers[driver] || ran(v) == 1
			}
		}
		if is.Answered {
			is.Others = othersOf(o.Address, branch(is.Driver), votes)
		}
		is.Says = is.says()
		o.Image = &is
	}
	slices.SortStableFunc(all, func(a, b Offer) int { return cmp.Compare(b.Image.rank(), a.Image.rank()) })
	return all
}

// String is what is known, in a table; nil where nothing was asked.
func (s *ImageStarts) String() string {
	if s == nil {
		return "-"
	}
	return cmp.Or(s.Says, "-")
}

// rank is 1 of a machine on which the image ran.
func (s *ImageStarts) rank() int {
	if s != nil && s.Ran > 0 {
		return 1
	}
	return 0
}

// lastVotes leaves one vote for each customer and machine: the newest; of the same hour one that did not run.
func lastVotes(all []StartVote) (out []StartVote) {
	type pair struct {
		node     string
		customer solana.PublicKey
	}
	return lastOf(all, func(v StartVote) pair { return pair{v.Node, v.Customer} })
}

// lastOf leaves the newest vote of each key.
func lastOf[K comparable](all []StartVote, key func(StartVote) K) (out []StartVote) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b StartVote) int {
		return cmp.Or(b.Start.At.Compare(a.Start.At), cmp.Compare(ran(a), ran(b)), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Customer.String(), b.Customer.String()))
	})
	seen := map[K]bool{}
	for _, v := range all {
		if k := key(v); !seen[k] {
			seen[k] = true
			out = append(out, v)
		}
	}
	return out
}

func ran(v StartVote) int {
	if v.Start.Outcome.Ran() {
		return 1
	}
	return 0
}

// othersOf counts votes of other machines with a driver of a branch. An owner with many machines has one vote for each customer and kind. An
// image that did not arrive says nothing of a driver: a customer may name the digest of a well-known one at a registry that never sends it.
func othersOf(node, of string, votes []StartVote) (out []StartCount) {
	type kind struct{ driver, sandbox, model string }
	type voter struct {
		kind
		provider string
		customer solana.PublicKey
	}
	kindOf := func(v StartVote) kind { return kind{release(v.Start.Driver), v.Start.Sandbox, v.Model} }
	votes = slices.DeleteFunc(slices.Clone(votes), func(v StartVote) bool {
		return v.Node == node || branch(v.Start.Driver) != of || v.Start.Outcome == records.StartNoImage
	})
	counts, owners := map[kind]*StartCount{}, map[kind]map[string]bool{}
	for _, v := range lastOf(votes, func(v StartVote) voter { return voter{kindOf(v), v.Provider, v.Customer} }) {
		k := kindOf(v)
		if counts[k] == nil {
			counts[k], owners[k] = &StartCount{Driver: k.driver, Sandbox: k.sandbox, Model: k.model}, map[string]bool{}
		}
		owners[k][v.Provider] = true
		counts[k].Ran += ran(v)
		counts[k].Failed += 1 - ran(v)
	}
	for k, c := range counts {
		c.Owners = len(owners[k])
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b StartCount) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Sandbox, b.Sandbox), cmp.Compare(a.Model, b.Model))
	})
	return out
}

// says is what the counts come to.
func (s *ImageStarts) says() string {
	switch {
	case !s.Answered:
		return "no answer"
	case s.Ran > 0:
		return fmt.Sprintf("ran here: %d of %d", s.Ran, s.Ran+s.Failed)
	case s.Failed > 0:
		return fmt.Sprintf("failed here: %d of %d", s.Failed, s.Failed)
	}
	ran, failed := 0, 0
	for _, c := range s.Others {
		ran, failed = ran+c.Ran, failed+c.Failed
	}
	where := "driver " + branch(s.Driver) + ".x"
	if s.Driver == "" {
		where = "other machines without a driver"
	}
	switch {
	case ran > 0:
		return fmt.Sprintf("ran on %s: %d of %d", where, ran, ran+failed)
	case failed > 0:
		return fmt.Sprintf("failed on %s: %d of %d", where, failed, failed)
	}
	return ""
}

// branch is the part of a driver's version before the first point, release the one before the second.
func branch(driver string) string {
	major, _, _ := strings.Cut(driver, ".")
	return major
}

func release(driver string) string {
	major, rest, more := strings.Cut(driver, ".")
	if !more {
		return major
	}
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}
