// Package faults detects faults of a GPU. It reads what the NVIDIA driver writes into the kernel's log, and NVML's
// events. It distinguishes faults of the hardware from those of a job. The node itself reports that its hardware has
// failed, before a keeper's check or a customer's job shows it. Such a report costs the node new orders, but no stake.
package faults
