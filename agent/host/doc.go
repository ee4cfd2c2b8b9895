// Package host finds out what a node's machine has.
//
// [Detect] reads the processor, memory and disk from /proc and /sys (gopsutil),
// measures the disk, and asks NVML for the GPUs. NVML is behind nvml.Interface,
// which [Simulate] implements for machines without a GPU; what comes from there is
// labelled: Simulated is true, names begin with "SIMULATED ", UUIDs with "SIM-".
//
// A machine without GPUs or without a driver is a normal result: the inventory
// then says why ([ErrNoDriver]), and everything else is filled in.
//
// Nothing here is evidence. What NVML says about a machine is what the machine's
// owner lets it say; keepers treat it as a claim until attest/ has confirmed it.
package host
