// Package inference answers OpenAI's API with model servers that run on leases.
//
// A deployment is a model server, how many replicas of it there may be, and what each may cost. Each replica is a lease,
// bought under a name of its own that is stored before anything is sent, so that a server that was killed goes on with what
// it had and buys nothing twice. A deployment's scaler looks at facts, decides, and begins or drains replicas; a replica's
// worker takes it from the purchase to its end. Requests go to the least loaded replica that serves, with a preference for
// the one that has seen the same beginning before; one that fails before its first token goes to another replica.
//
// The package knows no market: Compute buys, ends and reaches leases.
package inference
