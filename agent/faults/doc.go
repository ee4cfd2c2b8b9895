// Package faults finds out that a GPU has a fault, from what the NVIDIA driver writes into the kernel's log and from
// NVML's events, and tells faults of the hardware from those of a job. A node says itself that its hardware has failed,
// before a keeper's check or a customer's job would show it: that costs new orders and not stake.
package faults
