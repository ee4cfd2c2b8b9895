// Package linuxonly compiles on Linux only.
package linuxonly

// Both needs what each system has of its own.
func Both() int { return alone() }
