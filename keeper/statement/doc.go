// Package statement holds signed check statements: reading those of others, and keeping all of a period in memory.
//
// A keeper's own statements are signed and kept by keeper/store; a statement of somebody else can always be asked for
// again, so it lives in memory only.
package statement
