package market

import (
	"fmt"
	"slices"

	bin "github.com/gagliardetto/binary"

	"github.com/gantry-market/gantry/idl/bindings"
)

// Sizes in a report's account: its struct without the discriminator, and each root behind it. A report has room for
// four roots; the account grows by one for every further one (program/src/state/report_tail.rs).
const (
	reportSize    = 656 - 8
	candidateSize = 32 + 32 + 8 + 32
)

// decodeReport reads a report with the roots behind its struct. Error: ErrLayout.
func decodeReport(meta Meta, body []byte) (*Report, error) {
	r := &Report{Meta: meta}
	fixed := min(len(body), reportSize)
	if err := read(&r.Report, &r.Version, body[:fixed]); err != nil {
		return nil, err
	}
	for rest := body[fixed:]; len(rest) > 0; rest = rest[candidateSize:] {
		if len(rest) < candidateSize {
			return nil, fmt.Errorf("it ends in the middle of a root: %w", ErrLayout)
		}
		var c bindings.Candidate
		if err := c.UnmarshalWithDecoder(bin.NewBorshDecoder(rest[:candidateSize])); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLayout, err)
		}
		r.Tail = append(r.Tail, c)
	}
	return r, nil
}

// Voted reports whether the keeper with this index has voted for any root.
func (r *Report) Voted(index uint16) bool { return Has(r.Voters, index) }

// Roots are all roots that have votes: the heaviest four, which the program swaps to the front, then the others. It is
// not to be changed.
func (r *Report) Roots() []bindings.Candidate {
	front := r.Candidates[:min(int(r.CandidateCount), len(r.Candidates))]
	if len(r.Tail) == 0 {
		return front
	}
	return slices.Concat(front, r.Tail)
}

// Find is where a root is in Roots, or -1.
func (r *Report) Find(root [32]byte) int {
	return slices.IndexFunc(r.Roots(), func(c bindings.Candidate) bool { return c.Root == root })
}

// State is the report's status with its type.
func (r *Report) State() ReportStatus { return ReportStatus(r.Status) }
