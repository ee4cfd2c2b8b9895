// Package machine is a machine of a local network in namespaces of its own: processes, mounts and a network with a small
// internet that nobody else sees. An agent on it can give containers a network, and try its rules on them, while nothing of the
// computer's own network is changed.
//
// The machine is one process, the first of its process namespace, and runs the agent. When it ends, however it ends, the kernel
// ends everything on the machine and removes the namespaces. It reaches a few loopback ports of the computer, as if it were the
// computer, and is reached at one: the Solana node, the keepers, the registry, and its own agent.
package machine
