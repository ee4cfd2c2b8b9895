// Package bench measures a node in a few seconds before it registers: the work proof at several sizes and the disk. Its
// result is what the owner sees and what sizes an ask; it is not evidence. Keepers measure for themselves.
package bench
