// Package machine is the first process of the measured guest: it makes a Linux machine of a kernel, finds the port to the host, and
// answers questions about what the machine is.
//
// What it does at the start it does once, and a failure ends the machine. It keeps keys in memory alone: a guest that has ended has
// left nothing behind.
package machine
