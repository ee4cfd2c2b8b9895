// Package machine is the first process of the measured guest: it makes a Linux machine of a kernel, finds the port to the host, and
// answers questions about what the machine is. Then it runs the one job that a customer has sealed to it.
//
// What it does at the start it does once, and a failure ends the machine. It keeps keys, images and what containers write in memory
// alone: a guest that has ended has left nothing behind.
package machine
