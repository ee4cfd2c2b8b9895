// Package inventory is what a machine says of itself: its processors, memory, driver and GPUs. It is a claim and never
// a proof: nothing but the node's own key signs it, and the verifier's result says so. What it is good for: it names
// the devices that other evidence must cover, a false entry in it is a signed false entry, and a change of devices
// shows.
//
// The evidence has one item, [ItemInventory]: canonical JSON, see [Inventory.Encode].
package inventory
