// Package command holds what the commands of all readers share: the run of a command with its connection, wallet and
// state, global flags, questions, sending, tables, steps of purchases, failures and completion. It knows no reader.
package command
