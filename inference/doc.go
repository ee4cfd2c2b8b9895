// Package inference answers OpenAI's API with model servers that run on leases.
//
// A deployment is a model server, with a limit on its replicas and on the price of each. Each replica is a lease. The
// server stores a name for the purchase before it sends anything. So a server that was killed continues with the leases
// that it had, and does not buy twice. A deployment's scaler looks at facts, decides, and starts or drains replicas. A
// replica's worker takes it from the purchase to its end.
//
// Requests go to the least loaded replica that serves. A replica that has seen the same beginning before is preferred.
// If a replica fails before its first token, the request goes to another replica.
//
// The package does not know the market: Compute buys, ends and reaches leases.
package inference
