// Package evidence judges the bundles that nodes send and keeps them for years, with the collateral
// that they were judged with, so that an auditor can repeat the verdict (gantry evidence verify), and the devices that
// a node had last, so that a swapped one is found.
//
// What can cost stake is narrow: evidence that the node has signed and that is false, a registered GPU that is not
// there any more, a GPU that keeps its number and has another key. Everything else that fails lowers the tier and no
// more.
package evidence
