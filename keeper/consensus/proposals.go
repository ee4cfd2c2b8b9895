package consensus

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// standing is what the check of a proposal has led to.
type standing int

const (
	// unchecked: no proposal of the root has passed a check.
	unchecked standing = iota
	// omitting: the root follows from the statements, but ours, or those of a keeper whose set we hold, are left out.
	// Such a proposal becomes acceptable: see facts.acceptable.
	omitting
	// sound: we would vote for it.
	sound
)

// maxWaiting bounds the proposals of a period that wait for statements.
const maxWaiting = 16

// heard says which root each round's proposer was first heard to propose. Another root of the same round is not looked
// at: a check costs much, and a proposer needs one.
type heard map[uint32]records.Hash

// first reports whether no other root was proposed in the round before.
func (h heard) first(round uint32, root records.Hash) bool {
	known, ok := h[round]
	if !ok {
		h[round] = root
	}
	return !ok || known == root
}

// proposals are those of one period, by root.
type proposals struct {
	checked map[records.Hash]*checkedProposal
	waiting map[records.Hash]messages.Proposal // for sets of statements, or for the committees' seed
}

// checkedProposal is a proposal with what its check has led to.
type checkedProposal struct {
	standing standing
	message  messages.Proposal
	set      *report.Set // the leaves behind the root
	round    uint32      // in which it was seen
	// refusedUntil is the time before which a proposal of this root is not looked at again.
	refusedUntil time.Time
}

func newProposals() proposals {
	return proposals{map[records.Hash]*checkedProposal{}, map[records.Hash]messages.Proposal{}}
}

func (ps *proposals) entry(root records.Hash) *checkedProposal {
	p, ok := ps.checked[root]
	if !ok {
		p = &checkedProposal{}
		ps.checked[root] = p
	}
	return p
}

// keep remembers a proposal that is sound or leaves out statements.
func (ps *proposals) keep(s standing, m messages.Proposal, set *report.Set) {
	p := ps.entry(set.Root)
	p.standing, p.message, p.set, p.round = s, m, set, m.Round
}

// refuse keeps proposals of a root from being looked at again before a time. One that leaves out statements is refused
// and kept: others may vote for it.
func (ps *proposals) refuse(root records.Hash, until time.Time) { ps.entry(root).refusedUntil = until }

// wait keeps a proposal until more statements are here. Beyond the bound it is dropped: its proposer publishes it
// again.
func (ps *proposals) wait(m messages.Proposal) {
	if len(ps.waiting) < maxWaiting {
		ps.waiting[m.Root] = m
	}
}

// takeWaiting returns the proposals that wait, by root, and forgets that they do.
func (ps *proposals) takeWaiting() []messages.Proposal {
	all := ps.waiting
	ps.waiting = map[records.Hash]messages.Proposal{}
	out := make([]messages.Proposal, 0, len(all))
	for _, root := range slices.SortedFunc(maps.Keys(all), func(a, b records.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		out = append(out, all[root])
	}
	return out
}

// of returns what is known of a root.
func (ps *proposals) of(root records.Hash) checkedProposal {
	if p, ok := ps.checked[root]; ok {
		return *p
	}
	return checkedProposal{}
}

// first is the root of the sound proposal that was made first: in the lowest round, then the smaller root.
func (ps *proposals) first() (root records.Hash, ok bool) {
	var round uint32
	for r, p := range ps.checked {
		if p.standing == sound && (!ok || p.round < round || p.round == round && bytes.Compare(r[:], root[:]) < 0) {
			root, round, ok = r, p.round, true
		}
	}
	return root, ok
}
