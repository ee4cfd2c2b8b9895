// Package moves measures how long a lease needs to continue on another machine when its own machine is gone. It uses a
// local network of real binaries. Its periods last an hour, so only keepers' votes move leases.
package moves
