// Package terminal shows purchases, leases and offers to a person at a terminal: steps that are drawn in place, a screen of what a
// lease uses, and tables with bars. It also has the plain lines that pipes and scripts get instead.
package terminal
