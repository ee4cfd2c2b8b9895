// Package line is a keeper's side of checks of a node's line: it sends blocks and seeds, times the answers by its own clock, and
// says what the line moved. docs/adr/0027-lines.md says who asks and what the figures are, sdk/line what is moved.
//
// A figure is a lower bound of what the node's line has: this keeper's own line, or the way between both, may be slower.
package line
