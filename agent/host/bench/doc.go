// Package bench measures a node in a few seconds before it registers: its GPUs as keepers do, all at once, and its disk.
// Its result is what the owner sees; it is not evidence. Keepers measure for themselves, every period.
package bench
