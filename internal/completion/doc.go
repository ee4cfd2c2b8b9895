// Package completion completes command lines in shells: commands, flags, and the values that a program knows. It leaves
// out what is not known in time, and treats nothing as an error. It prints the manual page of a program too.
package completion
