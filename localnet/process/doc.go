// Package process starts, watches and stops the child processes of a local network.
//
// Both the engine and the network start their children with one supervisor, so it is a package below both.
//
// Every child has its own log file and pid file. A child that crashes is started again after a growing pause, if its
// specification asks for that. Stopping sends SIGTERM, and SIGKILL after a timeout. No process outlives the network,
// however the network ends:
//   - Children ask the kernel to be killed when their parent dies.
//   - Each network marks the environment of all its processes, so grandchildren are found as well.
//   - The next network started in the same directory kills the processes that a crash left.
//
// It uses process groups, parent-death signals and /proc, so it works on Linux only.
package process
