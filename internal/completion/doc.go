// Package completion finds how a command line may go on, for shells: commands, flags, and what a program knows of values. What
// is not known in time is left out, and nothing is ever an error. It prints the manual page of a program too.
package completion
