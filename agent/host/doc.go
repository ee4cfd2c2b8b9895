// Package host is the machine that a node runs on: what it has, how the market knows it, and what it claims.
//
// [Machine] takes the inventory once and answers for it from then on: the market's model of its GPUs, what it
// registers, and the claim that it repeats to keepers. Package host/bench measures how fast it is.
//
// [Detect] reads the processor, memory and disk from /proc and /sys (gopsutil), measures the disk, and asks NVML for
// the GPUs. NVML is behind nvml.Interface, which [Simulate] implements for machines without a GPU; what comes from
// there is labelled: Simulated is true, names begin with "SIMULATED ", UUIDs with "SIM-".
//
// A machine without GPUs or without a driver is a normal result: the inventory then says why ([ErrNoDriver]), and
// everything else is filled in.
//
// Nothing here is evidence. What NVML says about a machine is what the machine's owner lets it say; keepers treat it as
// a claim until attest/ has confirmed it.
package host
