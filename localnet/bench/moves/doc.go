// Package moves measures how long a lease needs to go on elsewhere when its machine is gone: on a local network of real
// binaries, whose periods last an hour, so that only keepers' votes move leases.
package moves
