// Package process starts, watches and stops the child processes of a local network.
//
// What it promises: every child has a log file and a pid file of its own; a child that crashes is started again
// after a growing pause, if its specification says so; stopping asks with SIGTERM and insists with SIGKILL; and no
// process outlives the network, however it ends. For the last one three means work together: children ask the
// kernel to be killed when their parent dies, each network marks the environment of all its processes (so that
// grandchildren are found as well), and the next network started in the same directory kills what a crash left.
//
// It uses process groups, parent-death signals and /proc, so it works on Linux only.
package process
