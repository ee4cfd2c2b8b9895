// Package sizing measures what daemons take in markets of different sizes: processor time, memory, disk, and bytes that they read and
// write. Markets are local ones with simulated GPUs and short periods; what a period costs is shown for one.
package sizing
