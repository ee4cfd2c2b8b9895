// Package starts asks machines how an image has started on them, and counts the answers that can be true. Such an answer is signed by the
// machine's own key, about a lease that the chain has had on it (docs/adr/0051-compatibility-records.md).
package starts
