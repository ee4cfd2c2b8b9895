// Package container runs one container in the measured guest: an image's layers under a folder for what it writes, in namespaces and a
// control group of its own.
//
// The virtual machine keeps the container from its host, and the other way around. What this package adds keeps the container from the
// guest's keys: the container has other namespaces for mounts, processes, names and IPC, few capabilities, no new privileges, and none
// of the guest's devices. There is no sandbox around its system calls: the kernel under it is the customer's own.
//
// The program starts itself again as the container's first process ([IsStage]). That process makes the container's world and becomes the
// container's program.
package container
