package audit

import (
	"fmt"

	"github.com/gantry-market/gantry/sdk/market"
)

// Outcome is what an audit, or a step of one, comes to.
type Outcome string

// Outcomes. What is proven wrong is wrong, whatever could not be read besides.
const (
	Right   Outcome = "right"   // everything adds up
	Wrong   Outcome = "wrong"   // something does not add up
	Unknown Outcome = "unknown" // something could not be read: nothing that was read is wrong
)

// Outcome is what the step comes to.
func (s Step) Outcome() Outcome {
	switch {
	case len(s.Problems) > 0:
		return Wrong
	case s.Unknown != "":
		return Unknown
	}
	return Right
}

// outcomeOf is what all steps together come to.
func outcomeOf(steps []Step) Outcome {
	out := Right
	for _, s := range steps {
		switch s.Outcome() {
		case Wrong:
			return Wrong
		case Unknown:
			out = Unknown
		}
	}
	return out
}

// topic is something that later steps are checked by.
type topic uint16

// Topics of a history.
const (
	ofOrder   topic = 1 << iota // the order's terms
	ofAward                     // price, GPUs and reservation
	ofAuction                   // which keepers made the awards of the order
	ofStart                     // when the lease started, and until when it was funded
	ofFunds                     // extensions
	ofClaims                    // receipts and leaves
	ofPaid                      // what was paid
	ofEnd                       // what was given back
	ofPrice                     // whether the price fell
	ofDispute
	ofOutput

	ofReserve = ofOrder | ofAward | ofFunds | ofPaid | ofEnd | ofPrice // what is still reserved
	ofAll     = 1<<iota - 1
)

// skipped says of a step that not all checks of it could be made.
const skipped = "it follows from what could not be read"

// checks are what was checked of a step.
type checks struct {
	gaps     topic    // what is not known at this step
	problems []string // what does not add up
	open     bool     // a check was left out: it needs what is not known
}

// require checks what the step's own transaction shows.
func (c *checks) require(ok bool, format string, args ...any) {
	if !ok {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// follows checks what follows from other transactions. Where these could not be read, it leaves the check out.
func (c *checks) follows(from topic, ok bool, format string, args ...any) {
	if c.gaps&from != 0 {
		c.open = true
		return
	}
	c.require(ok, format, args...)
}

// amount checks an amount that follows from other transactions.
func (c *checks) amount(from topic, what string, got uint64, want market.USDC, err error) {
	if err != nil {
		c.follows(from, false, "%s: %v", what, err)
		return
	}
	c.follows(from, market.USDC(got) == want, "%s is %s, should be %s", what, market.USDC(got).Exact(), want.Exact())
}

// step is the step that was checked.
func (c *checks) step(t Tx, name, format string, args ...any) Step {
	s := Step{Name: name, Time: t.Time, Text: fmt.Sprintf(format, args...), Signature: t.Signature, Problems: c.problems}
	if c.open {
		s.Unknown = skipped
	}
	return s
}
