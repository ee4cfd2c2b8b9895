// Package process starts, watches and stops the child processes of a local network.
//
// Both the engine and the network start their children with one supervisor, so that it is a package below both.
//
// Every child has a log file and a pid file of its own. A child that crashes is started again after a growing pause, if
// its specification says so. Stopping sends SIGTERM, and SIGKILL after a timeout. No process outlives the network,
// however it ends: children ask the kernel to be killed when their parent dies, each network marks the environment of
// all its processes (so that grandchildren are found as well), and the next network started in the same directory kills
// what a crash left.
//
// It uses process groups, parent-death signals and /proc, so it works on Linux only.
package process
