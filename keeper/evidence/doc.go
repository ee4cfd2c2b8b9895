// Package evidence judges the bundles that nodes send. It keeps them for years, with the collateral that was used to
// judge them. An auditor can therefore repeat the verdict (gantry evidence verify). It also keeps the devices that a
// node had last, to detect a swapped device.
//
// Only three things can cost stake: evidence that the node has signed and that is false, a registered GPU that is
// missing now, and a GPU that keeps its number and has another key. Every other failure only lowers the tier.
package evidence
