// Package line is a node's side of checks of its line: it answers the blocks and seeds of the keepers that sit in its
// committee, in the period that draws it, one at a time and once each. docs/adr/0027-lines.md says why, sdk/line what is moved.
//
// The node looks up itself who may ask, so that no one else makes it move a byte: the period's instant has to draw it, and
// the keeper to sit in the committee of that period. What it remembers is in memory: an agent that starts again in a period that draws it
// may be checked again in it.
package line
