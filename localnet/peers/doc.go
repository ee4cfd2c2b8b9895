// Package peers starts servers of others on loopback: those beside which benchmarks measure, and OpenSSH's, by which tests reach
// machines as their owners do.
package peers
